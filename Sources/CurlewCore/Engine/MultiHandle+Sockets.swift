internal import CLibcurl
internal import CurlewPlatform

/// The sockets that libcurl opens, watches and closes.
extension MultiHandle {
    /// Forgets a connection that libcurl has closed without reporting it. Its descriptor may belong to another socket
    /// by now.
    func forget(_ connection: Connection) {
        guard knows(connection) else { return }
        core.poller.forget(connection.descriptor, of: connection)
        sockets.remove(connection.descriptor)
        core.timers.remove(connection)
        noteClosed(connection)
    }

    /// True if libcurl has the connection.
    func knows(_ connection: Connection) -> Bool { sockets[connection.descriptor] === connection }

    func connection(_ descriptor: Int32) -> Connection? { sockets[descriptor] }

    /// Gives the socket of a connection to libcurl.
    func handOver(_ connection: Connection, _ place: UnsafeMutablePointer<curl_sockaddr>) -> Int32 {
        if let dialled = connection.dialled, !dialled.isConnected || connection.isQUIC {
            return handOver(connection, towards: dialled.peer, place)
        }
        connection.isHandedOver = true
        sockets.insert(connection)
        return connection.descriptor
    }

    /// Makes a socket that libcurl connects to the other end of a connection that libcurl has closed.
    func openAgain(
        _ connection: Connection, _ place: UnsafeMutablePointer<curl_sockaddr>, for transfer: Transfer
    ) -> Int32 {
        guard let peer = connection.dialled?.peer, let next = connections.another(like: connection) else { return -1 }
        transfer.moves(to: next)
        return handOver(next, towards: peer, place)
    }

    /// Gives libcurl a socket that libcurl connects itself.
    private func handOver(
        _ connection: Connection, towards peer: SocketAddress, _ place: UnsafeMutablePointer<curl_sockaddr>
    ) -> Int32 {
        peer.withSystemForm { curlew_set_address(place, $0, $1) }
        if !connection.isQUIC { hygiene.setProbes(on: connection.descriptor, family: peer.family) }
        connection.isHandedOver = true
        sockets.insert(connection, isConnected: false)
        return connection.descriptor
    }

    /// True if libcurl has to connect the socket.
    func isConnecting(_ descriptor: Int32) -> Bool { sockets.isConnecting(descriptor) }

    func closing(_ descriptor: Int32) {
        core.poller.forget(descriptor)
        guard let connection = sockets.remove(descriptor) else { return }
        connection.noteEnd()
        core.timers.remove(connection)
        noteClosed(connection)
    }

    func interestChanged(easy: UnsafeMutableRawPointer?, descriptor: Int32, interest: Int32, _ shard: EngineShard) {
        let known = sockets[descriptor]
        if interest & CURL_POLL_IN == 0 { known?.user?.transfer?.readingStopped(isOpen: !hasEnded(descriptor)) }
        let connection = known ?? Connection(descriptor: descriptor, shard)
        if interest == CURL_POLL_REMOVE {
            connection.user = nil
            connection.watch(0)
            if connection.origin == nil {
                core.poller.forget(descriptor)
                sockets.remove(descriptor)
            }
            return
        }
        if known == nil { sockets.insert(connection) }
        connection.user = EasyHandle.of(easy)
        connection.user?.lastConnection = connection
        var events: UInt32 = 0
        if interest & CURL_POLL_IN != 0 { events |= Readiness.input }
        if interest & CURL_POLL_OUT != 0 { events |= Readiness.output }
        connection.watch(events)
    }

    /// True if the peer has closed the connection, and all its bytes were read.
    private func hasEnded(_ descriptor: Int32) -> Bool {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) == 0
    }

    /// True if other transfers use the connection.
    func isShared(_ connection: Connection, besides transfer: Transfer) -> Bool {
        active.contains { $0 !== transfer && $0.connection === connection }
    }

    /// Informs transfers of input on an HTTP/2 connection. It may be the end of a response whose request is not
    /// completely sent (``Engine/overlooksEndOfStream``).
    func lookForEnds(on connection: Connection) {
        for transfer in active where transfer.prepared.hasBody && transfer.connection === connection {
            transfer.connectionHasRead()
        }
    }
}
