import Foundation
import Glibc

/// A relay between a client and a server that ends each connection after a given number of the server's bytes. It
/// relays one connection after another on its own thread.
final class CuttingRelay: Sendable {
    let port: Int
    private let listener: Int32
    private let target: Int
    private let limit: Int
    private let ended = DispatchSemaphore(value: 0)

    init(to target: Int, after limit: Int) throws {
        self.target = target
        self.limit = limit
        (listener, port) = try LoopbackListener.open()
        Thread.detachNewThread { self.serve() }
    }

    /// Ends the thread and waits for it.
    func end() {
        shutdown(listener, Int32(SHUT_RDWR))
        ended.wait()
        close(listener)
    }

    private func serve() {
        defer { ended.signal() }
        while true {
            let client = accept(listener, nil, nil)
            guard client >= 0 else { return }
            let server = LoopbackListener.connect(to: target)
            if server >= 0 { relay(client, server) }
            close(server)
            close(client)
        }
    }

    private func relay(_ client: Int32, _ server: Int32) {
        var left = limit
        var buffer = [UInt8](repeating: 0, count: 4096)
        while left > 0 {
            var waiting = [client, server].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            guard poll(&waiting, 2, 20_000) > 0 else { return }
            if waiting[0].revents != 0 {
                let count = recv(client, &buffer, buffer.count, 0)
                guard count > 0, send(server, buffer, count, Int32(MSG_NOSIGNAL)) == count else { return }
            }
            if waiting[1].revents != 0 {
                let count = recv(server, &buffer, min(buffer.count, left), 0)
                guard count > 0, send(client, buffer, count, Int32(MSG_NOSIGNAL)) == count else { return }
                left -= count
            }
        }
    }
}
