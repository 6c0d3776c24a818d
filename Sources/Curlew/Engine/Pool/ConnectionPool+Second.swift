extension ConnectionPool {
    /// A connection that libcurl makes in place of one that has ended, with the same name.
    func another(like connection: Connection) -> Connection? {
        guard let origin = connection.origin, let name = connection.name, let dialled = connection.dialled,
            let shard = connection.shard,
            // libcurl would connect from another local end.
            origin.options.values.route.localInterface == nil
        else { return nil }
        let peer = dialled.peer
        let descriptor = DialAttempt.makeSocket(peer.family)
        guard descriptor >= 0 else { return nil }
        let made = Connection(
            Dialled(descriptor: descriptor, peer: peer, isConnected: false, nameLookUp: .zero, connected: .zero), name,
            origin,
            shard)
        connection.users -= 1
        made.users = 1
        noteMore(origin)
        if connection.isPending {
            connection.isPending = false
            made.isPending = true
        }
        return made
    }
}
