/// The sockets of a multi handle by their descriptors.
struct ConnectionTable {
    private var connections: [Int32: Connection] = [:]

    subscript(descriptor: Int32) -> Connection? { connections[descriptor] }

    var all: some Collection<Connection> { connections.values }

    mutating func insert(_ connection: Connection) { connections[connection.descriptor] = connection }

    @discardableResult
    mutating func remove(_ descriptor: Int32) -> Connection? { connections.removeValue(forKey: descriptor) }
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
