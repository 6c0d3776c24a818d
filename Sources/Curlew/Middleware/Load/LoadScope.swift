/// The requests that share a limit: those to one origin, those with one tag, all of them, or what a closure says.
///
/// ``ConcurrencyLimiter``, ``RequestRateLimiter`` and ``CircuitBreaker`` have a state for each. At ``groupLimit`` groups half of them
/// are forgotten, first those of which there is nothing to remember, then those that were used longest ago; groups with requests under way
/// or waiting never are.
public struct LoadScope: Sendable {
    /// The most groups that a link remembers, those with requests under way or waiting aside: 1,000.
    public static let groupLimit = 1000

    enum Kind: Sendable {
        case origin
        case tag
        case all
        case custom(@Sendable (CurlewRequest) -> String?)
    }

    let kind: Kind

    /// The requests to one origin: scheme, host and port (RFC 6454).
    public static let origin = LoadScope(kind: .origin)
    /// The requests with the same ``RequestOptions/tag``, byte by byte: a bulkhead, so that one kind of work does not take the places of another. Those
    /// without a tag are a group, too.
    public static let tag = LoadScope(kind: .tag)
    /// All requests.
    public static let all = LoadScope(kind: .all)
    /// The requests for which a closure returns the same name, byte by byte. Those for which it returns nil pass without a limit. The closure runs where the
    /// call runs, once for each request.
    ///
    /// ```swift
    /// LoadScope.custom { request in request.options.tenant }
    /// ```
    public static func custom(_ name: @escaping @Sendable (CurlewRequest) -> String?) -> LoadScope {
        LoadScope(kind: .custom(name))
    }

    /// The name that the user's closure gives. It is asked before any lock is taken.
    func ownName(of request: CurlewRequest) -> String? {
        if case .custom(let name) = kind { name(request) } else { nil }
    }
}

/// What a link knows of a group.
protocol LoadState {
    /// True if requests of the group are under way or wait.
    var isInUse: Bool { get }

    /// True if nothing would be lost with it.
    mutating func isIdle(at now: Int64) -> Bool
}

/// A group of requests: where its state is found, for as long as the group is in use.
struct LoadGroup: Sendable {
    let name: String
    fileprivate let slot: Int
    /// A slot serves other groups later; none has the same number.
    fileprivate let number: UInt64

    /// For a sentence.
    var place: String { name.isEmpty ? "" : " at \(name)" }
}

/// The groups of a link and their states. Its owner's lock guards it.
struct LoadGroups<State: LoadState> {
    private struct Slot {
        let group: LoadGroup
        var state: State
        var use: UInt64
    }

    private let scope: LoadScope
    private var slots: [Slot] = []
    private var freeSlots: [Int] = []
    private var indices: [ExactText: Int] = [:]
    private var uses: UInt64 = 0
    private var forgetsAt = LoadScope.groupLimit
    /// The group of the request before, which the next mostly has too.
    private var last: (uri: CurlewURI, tag: String, group: LoadGroup)?

    init(_ scope: LoadScope) { self.scope = scope }

    var count: Int { indices.count }
    var all: [(name: String, state: State)] { indices.map { ($0.key.text, slots[$0.value].state) } }

    subscript(group: LoadGroup) -> State {
        get { slots[group.slot].state }
        _modify { yield &slots[group.slot].state }
    }

    /// False if the group has been forgotten.
    func holds(_ group: LoadGroup) -> Bool { slots[group.slot].group.number == group.number }

    /// The group of a request, made if need be; nil if the request has none.
    /// - Parameters:
    ///   - ownName: What ``LoadScope/ownName(of:)`` has returned.
    ///   - now: In nanoseconds.
    mutating func group(
        of request: CurlewRequest, named ownName: String?, now: Int64, make: () -> State
    ) -> LoadGroup? {
        let name: String
        switch scope.kind {
        case .origin:
            if let last, request.uri.begins(like: last.uri) { return last.group }
            name = request.uri.origin
        case .tag:
            name = request.options.tag ?? ""
            if let last, last.tag.hasSameBytes(as: name) { return last.group }
        case .all:
            if let last { return last.group }
            name = ""
        case .custom:
            guard let ownName else { return nil }
            name = ownName
        }
        let group = group(named: name, now, make)
        last = (request.uri, request.options.tag ?? "", group)
        return group
    }

    private mutating func group(named name: String, _ now: Int64, _ make: () -> State) -> LoadGroup {
        uses &+= 1
        if let known = indices[ExactText(name)] {
            slots[known].use = uses
            return slots[known].group
        }
        if indices.count >= forgetsAt { forget(now) }
        let free = freeSlots.popLast()
        let group = LoadGroup(name: name, slot: free ?? slots.count, number: uses)
        let made = Slot(group: group, state: make(), use: uses)
        if let free { slots[free] = made } else { slots.append(made) }
        indices[ExactText(name)] = group.slot
        return group
    }

    private mutating func forget(_ now: Int64) {
        last = nil
        var idle: [Int] = []
        var others: [Int] = []
        for index in indices.values.sorted(by: { slots[$0].use < slots[$1].use }) where !slots[index].state.isInUse {
            if slots[index].state.isIdle(at: now) { idle.append(index) } else { others.append(index) }
        }
        for index in (idle + others).prefix(LoadScope.groupLimit / 2) {
            indices[ExactText(slots[index].group.name)] = nil
            freeSlots.append(index)
        }
        // Where most are in use, not for each new group again.
        forgetsAt = max(LoadScope.groupLimit, indices.count + LoadScope.groupLimit / 2)
    }
}
