/// The sockets of a multi handle, by their descriptors and by their local ports.
struct ConnectionTable {
    private var connections: [Int32: Connection] = [:]
    /// Opened, but not yet known by their local port.
    private var unnamed: [Int32: Connection] = [:]
    private var named: [Int32: [Connection]] = [:]

    subscript(descriptor: Int32) -> Connection? { connections[descriptor] }

    var all: some Collection<Connection> { connections.values }

    /// The number of those that the engine has opened through us.
    var trackedCount: Int { connections.values.count { $0.isTracked } }

    mutating func insert(_ connection: Connection) {
        connections[connection.descriptor] = connection
        if connection.isTracked { unnamed[connection.descriptor] = connection }
    }

    @discardableResult
    mutating func remove(_ descriptor: Int32) -> Connection? {
        guard let connection = connections.removeValue(forKey: descriptor) else { return nil }
        unnamed[descriptor] = nil
        if let port = connection.port {
            named[port]?.removeAll { $0 === connection }
            if named[port]?.isEmpty == true { named[port] = nil }
        }
        return connection
    }

    /// Files the connection under its local port, if it has one by now. Unix sockets have none, which counts as 0.
    mutating func name(_ connection: Connection) {
        let port = connection.localPort
        guard port != 0 || connection.isUnixSocket else { return }
        unnamed[connection.descriptor] = nil
        connection.port = port
        named[port, default: []].append(connection)
    }

    /// The connections that a request about to be sent from `localPort` may be on.
    /// - Parameter newest: The one that the engine has last spoken of for the request's handle.
    mutating func candidates(localPort: Int32, newest: Connection?) -> [Connection] {
        let port = max(0, localPort)
        // Opened in this very step of the engine's, or never connected.
        if !unnamed.isEmpty {
            for connection in Array(unnamed.values) where connection.isOpen { name(connection) }
        }
        guard let known = named[port], known.count > 1 else { return named[port] ?? [] }
        // A new one is the handle's own.
        if let newest, newest.port == port, !newest.isUsed, newest.isOpen { return [newest] }
        return known.filter { $0.isUsed || $0.isOpen }
    }
}

/// The easy handles of a multi handle that wait for another transfer.
struct EasyHandlePool {
    private static let limit = 256
    private var handles: [EasyHandle] = []

    /// A handle that has served before, if it reads into a buffer of the right size.
    mutating func take(for request: PreparedRequest) -> EasyHandle? {
        guard let last = handles.popLast() else { return nil }
        let size = request.options.values.clampedReadBufferSize
        return !Engine.allocatesReadBuffers || last.readBufferSize ?? size == size ? last : nil
    }

    mutating func put(_ handle: EasyHandle) {
        if handles.count < Self.limit, !handle.isSpent { handles.append(handle) }
    }

    mutating func removeAll() { handles.removeAll() }
}
