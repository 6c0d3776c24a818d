/// The places of a pool, and what was learned of those that have no connection at present.
struct OriginDirectory {
    private struct Memory {
        let sharing: OriginPool.Sharing
        let tickets: SessionTickets
    }

    /// The most places without a connection that are remembered; then all of them are forgotten.
    private static let memoryLimit = 1000

    private var origins: [PoolKey: OriginPool] = [:]
    private var memory: [PoolKey: Memory] = [:]
    /// The place of the last exchange: mostly the next one goes there, too.
    private var last: OriginPool?

    var all: some Collection<OriginPool> { origins.values }

    /// The number of places without a connection that are remembered.
    var rememberedCount: Int { memory.count }

    /// The place that a request goes to.
    mutating func origin(for request: PreparedRequest, isHTTP11: Bool) -> OriginPool {
        if let last, last.options === request.options, last.uri.begins(like: request.uri),
            last.key.use == PoolKey.use(of: request, isHTTP11: isHTTP11)
        {
            return last
        }
        let key = PoolKey(request, isHTTP11: isHTTP11)
        let origin = origins[key] ?? makeOrigin(key, request)
        last = origin
        return origin
    }

    private mutating func makeOrigin(_ key: PoolKey, _ request: PreparedRequest) -> OriginPool {
        let known = memory.removeValue(forKey: key)
        let usual: OriginPool.Sharing =
            switch key.use {
            case .exclusive, .upgraded: .exclusive
            case .shared: .shared
            case .negotiated: known?.sharing ?? .unknown
            }
        let made = OriginPool(
            key, uri: request.uri, options: request.options, sharing: usual, tickets: known?.tickets ?? SessionTickets()
        )
        origins[key] = made
        return made
    }

    /// Forgets a place that has neither connections nor exchanges, but for what was learned of its TLS.
    mutating func forgetIfUnused(_ origin: OriginPool) {
        guard origin.isUnused, !origin.isToBeServed, origins[origin.key] === origin else { return }
        if origin.key.isSecure {
            if memory.count >= Self.memoryLimit { memory.removeAll() }
            memory[origin.key] = Memory(sharing: origin.sharing, tickets: origin.tickets)
        }
        origins[origin.key] = nil
        if last === origin { last = nil }
    }
}
