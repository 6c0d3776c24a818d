/// The origins of a pool, and the knowledge about origins without a connection.
struct OriginDirectory {
    private struct Memory {
        let sharing: OriginPool.Sharing
        let tickets: SessionTickets
        let hasRefusedStreams: Bool
    }

    /// The greatest number of remembered origins without a connection; beyond it all are removed.
    private static let memoryLimit = 1000

    private var origins: [PoolKey: OriginPool] = [:]
    private var memory: [PoolKey: Memory] = [:]
    /// The origin of the last exchange: the next exchange usually has the same one.
    private var last: OriginPool?

    var all: some Collection<OriginPool> { origins.values }

    /// The number of remembered origins without a connection.
    var rememberedCount: Int { memory.count }

    /// The origin pool of a request.
    mutating func origin(for request: PreparedRequest, _ use: PoolKey.Use) -> OriginPool {
        if let last, last.options === request.options, last.uri.begins(like: request.uri), last.key.use == use {
            return last
        }
        let key = PoolKey(request, use)
        let origin = origins[key] ?? makeOrigin(key, request)
        last = origin
        return origin
    }

    private mutating func makeOrigin(_ key: PoolKey, _ request: PreparedRequest) -> OriginPool {
        let known = memory.removeValue(forKey: key)
        let usual: OriginPool.Sharing =
            switch key.use {
            case .exclusive, .upgraded: .exclusive
            case .shared, .quic: .shared
            case .negotiated: known?.sharing ?? .unknown
            }
        let made = OriginPool(
            key, uri: request.uri, options: request.options, sharing: usual, tickets: known?.tickets ?? SessionTickets()
        )
        made.hasRefusedStreams = known?.hasRefusedStreams == true
        origins[key] = made
        return made
    }

    /// Removes an origin without connections and exchanges. Its TLS sessions, its kind of sharing, and its refusal of
    /// streams are remembered.
    mutating func forgetIfUnused(_ origin: OriginPool) {
        guard origin.isUnused, !origin.isToBeServed, origins[origin.key] === origin else { return }
        remember(origin)
        origins[origin.key] = nil
        if last === origin { last = nil }
    }

    /// Removes all origins, as ``forgetIfUnused(_:)`` does.
    mutating func forgetAll() {
        for origin in origins.values { remember(origin) }
        origins = [:]
        last = nil
    }

    private mutating func remember(_ origin: OriginPool) {
        guard origin.key.isSecure || origin.hasRefusedStreams else { return }
        if memory.count >= Self.memoryLimit { memory.removeAll() }
        memory[origin.key] = Memory(
            sharing: origin.sharing, tickets: origin.tickets, hasRefusedStreams: origin.hasRefusedStreams)
    }
}
