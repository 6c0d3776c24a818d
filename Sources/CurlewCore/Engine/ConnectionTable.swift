/// The sockets of a multi handle by their descriptors.
struct ConnectionTable {
    /// The connections at the index of their descriptor. The system assigns the smallest free descriptor.
    private var connections: [Connection?] = []
    /// The sockets that libcurl connects itself.
    private var connecting: Set<Int32> = []

    subscript(descriptor: Int32) -> Connection? {
        let index = Int(descriptor)
        return connections.indices.contains(index) ? connections[index] : nil
    }

    var all: [Connection] { connections.compactMap(\.self) }

    /// True if libcurl connects the socket itself.
    func isConnecting(_ descriptor: Int32) -> Bool { !connecting.isEmpty && connecting.contains(descriptor) }

    /// - Parameter isConnected: False if libcurl connects the socket.
    mutating func insert(_ connection: Connection, isConnected: Bool = true) {
        if !isConnected { connecting.insert(connection.descriptor) }
        let index = Int(connection.descriptor)
        if index >= connections.count {
            connections += repeatElement(nil, count: index + 1 - connections.count)
        }
        connections[index] = connection
    }

    @discardableResult
    mutating func remove(_ descriptor: Int32) -> Connection? {
        if !connecting.isEmpty { connecting.remove(descriptor) }
        let index = Int(descriptor)
        guard connections.indices.contains(index) else { return nil }
        defer { connections[index] = nil }
        return connections[index]
    }
}

/// The idle easy handles of a multi handle.
struct EasyHandlePool {
    private static let limit = 256
    private var handles: [EasyHandle] = []

    /// A used handle whose read buffer has the right size; nil without one.
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
