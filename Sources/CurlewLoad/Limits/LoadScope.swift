/// The requests that share a limit: those to one origin, with one tag, all requests, or the groups of a closure.
///
/// ``ConcurrencyLimiter``, ``RequestRateLimiter`` and ``CircuitBreaker`` keep a state for each group. At ``groupLimit``
/// groups half of them are evicted: first the groups without information, then the least recently used. Groups with
/// running or waiting requests are never evicted.
public struct LoadScope: Sendable {
    /// The largest number of groups that a link remembers, besides those with running or waiting requests: 1,000.
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
    /// The requests with the same ``RequestOptions/tag``, compared by bytes. This is a bulkhead: one kind of work does
    /// not use the slots of another. Requests without a tag form a group, too.
    public static let tag = LoadScope(kind: .tag)
    /// All requests.
    public static let all = LoadScope(kind: .all)
    /// The requests for which a closure returns the same name, compared by bytes. Requests for which it returns nil
    /// have no limit. The closure runs on the call's executor, once for each request.
    ///
    /// ```swift
    /// LoadScope.custom { request in request.options.tenant }
    /// ```
    public static func custom(_ name: @escaping @Sendable (CurlewRequest) -> String?) -> LoadScope {
        LoadScope(kind: .custom(name))
    }

    /// The name that the user's closure returns. It is called before any lock is taken.
    func ownName(of request: CurlewRequest) -> String? {
        if case .custom(let name) = kind { name(request) } else { nil }
    }
}

/// The state that a link keeps for a group.
protocol LoadState {
    /// True if requests of the group are running or waiting.
    var isInUse: Bool { get }

    /// True if the group can be evicted without loss.
    mutating func isIdle(at now: Int64) -> Bool
}

/// A group of requests: the position of its state, valid while the group is in use.
struct LoadGroup: Sendable {
    let name: String
    fileprivate let slot: Int
    /// The unique number of the group: a slot is reused by later groups.
    fileprivate let number: UInt64

    /// The group's name as the end of a sentence.
    var place: String { name.isEmpty ? "" : " at \(name)" }
}

/// The groups of a link and their states. The owner's lock guards it.
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
    /// The group of the previous request, which is usually that of the next.
    private var last: (uri: CurlewURI, tag: String, group: LoadGroup)?

    init(_ scope: LoadScope) { self.scope = scope }

    var count: Int { indices.count }
    var all: [(name: String, state: State)] { indices.map { ($0.key.text, slots[$0.value].state) } }

    subscript(group: LoadGroup) -> State {
        get { slots[group.slot].state }
        _modify { yield &slots[group.slot].state }
    }

    /// False if the group has been evicted.
    func holds(_ group: LoadGroup) -> Bool { slots[group.slot].group.number == group.number }

    /// The group of a request, created if necessary; nil if the request has none.
    /// - Parameters:
    ///   - ownName: The result of ``LoadScope/ownName(of:)``.
    ///   - now: The time in nanoseconds.
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
        // If most groups are in use, eviction is not repeated for each new group.
        forgetsAt = max(LoadScope.groupLimit, indices.count + LoadScope.groupLimit / 2)
    }
}
