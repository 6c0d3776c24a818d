/// The requests that share a limit: those to one origin, those with one tag, all of them, or what a closure says.
///
/// ``ConcurrencyLimiter``, ``RequestRateLimiter`` and ``CircuitBreaker`` have a state for each. At most ``groupLimit`` groups are
/// remembered; beyond them the half that was used longest ago is forgotten, but for groups with requests under way or
/// waiting.
public struct LoadScope: Sendable {
    /// The most groups that a link remembers: 1,000.
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
    /// The requests with the same ``RequestOptions/tag``: a bulkhead, so that one kind of work does not take the places of another. Those
    /// without a tag are a group, too.
    public static let tag = LoadScope(kind: .tag)
    /// All requests.
    public static let all = LoadScope(kind: .all)
    /// The requests for which a closure returns the same name. Those for which it returns nil pass without a limit.
    ///
    /// ```swift
    /// LoadScope.custom { request in request.options.tenant }
    /// ```
    public static func custom(_ name: @escaping @Sendable (CurlewRequest) -> String?) -> LoadScope {
        LoadScope(kind: .custom(name))
    }

    /// The name of a request's group; nil if it has none.
    func name(of request: CurlewRequest) -> String? {
        switch kind {
        case .origin: request.uri.origin
        case .tag: request.options.tag ?? ""
        case .all: ""
        case .custom(let name): name(request)
        }
    }
}

/// The groups of a link, found by request. Its owner's lock guards it.
struct LoadGroups<Group: AnyObject> {
    private let scope: LoadScope
    private var table: [String: (group: Group, use: UInt64)] = [:]
    private var uses: UInt64 = 0
    /// The group of the request before, which the next mostly has too.
    private var last: (uri: CurlewURI?, tag: String?, group: Group)?

    init(_ scope: LoadScope) { self.scope = scope }

    var count: Int { table.count }
    var all: [(name: String, group: Group)] { table.map { ($0.key, $0.value.group) } }

    subscript(name: String) -> Group? { table[name]?.group }

    /// The group of a request, made if need be; nil if the request has none.
    /// - Parameter isIdle: True of a group that may be forgotten.
    mutating func group(
        of request: CurlewRequest, isIdle: (Group) -> Bool, make: (_ name: String) -> Group
    ) -> Group? {
        switch scope.kind {
        case .origin: if let last, let uri = last.uri, request.uri.begins(like: uri) { return last.group }
        case .tag: if let last, last.tag == request.options.tag ?? "" { return last.group }
        case .all: if let last { return last.group }
        case .custom: break
        }
        guard let name = scope.name(of: request) else { return nil }
        let group = group(named: name, isIdle: isIdle, make: make)
        last = (request.uri, request.options.tag ?? "", group)
        return group
    }

    private mutating func group(named name: String, isIdle: (Group) -> Bool, make: (String) -> Group) -> Group {
        uses &+= 1
        if let known = table[name]?.group {
            table[name]?.use = uses
            return known
        }
        if table.count >= LoadScope.groupLimit { forget(isIdle) }
        let made = make(name)
        table[name] = (made, uses)
        return made
    }

    private mutating func forget(_ isIdle: (Group) -> Bool) {
        let oldest = table.filter { isIdle($0.value.group) }.sorted { $0.value.use < $1.value.use }
        for entry in oldest.prefix(LoadScope.groupLimit / 2) { table[entry.key] = nil }
    }
}
