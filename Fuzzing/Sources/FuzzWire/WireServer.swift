internal import Glibc

@testable internal import CurlewCore
@testable internal import CurlewSupport

/// The server for the requests of an input: one thread and two ports. One port follows the input's script, the other
/// one answers correctly.
///
/// `@unchecked Sendable`: the connections belong to the thread; the other state is locked or never changes.
final class WireServer: @unchecked Sendable {
    private let scripted: Int32
    private let honest: Int32
    /// A pipe; a byte in it wakes the thread.
    private let wakeUp: (read: Int32, write: Int32)
    private let orders = Guarded<[Order]>([])
    private var connections: [WireConnection] = []
    private var script = WireScript()
    private var nextAnswer = 0

    private struct Order {
        var script: WireScript
        var done: UnsafeContinuation<Void, Never>
    }

    init() {
        scripted = Self.listen()
        honest = Self.listen()
        var ends: [Int32] = [-1, -1]
        precondition(pipe(&ends) == 0, "no pipe for the server")
        wakeUp = (ends[0], ends[1])
        var thread = pthread_t()
        let context = Unmanaged.passRetained(self)
        let status = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                Unmanaged<WireServer>.fromOpaque(context).takeRetainedValue().run()
            }, context.toOpaque())
        precondition(status == 0, "no thread for the server")
    }

    /// The URL of a path on the port that follows the script.
    func url(_ path: String) -> String { "http://127.0.0.1:\(Self.port(of: scripted))\(path)" }

    /// The URL of the port that answers correctly.
    var honestURL: String { "http://127.0.0.1:\(Self.port(of: honest))/" }

    /// Closes every connection and follows another script. Returns when that is done.
    func follow(_ script: WireScript) async {
        await withUnsafeContinuation { done in
            orders.withLock { $0.append(Order(script: script, done: done)) }
            var byte: UInt8 = 1
            _ = write(wakeUp.write, &byte, 1)
        }
    }

    // MARK: Thread

    private func run() -> Never {
        while true {
            var polled = [scripted, honest, wakeUp.read].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            polled += connections.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
            _ = poll(&polled, nfds_t(polled.count), -1)
            let ready = polled.map { $0.revents != 0 }
            for (connection, isReady) in zip(connections, ready.dropFirst(3)) where isReady { serve(connection) }
            connections.removeAll(where: \.isClosed)
            if ready[0] { accept(at: scripted, isHonest: false) }
            if ready[1] { accept(at: honest, isHonest: true) }
            if ready[2] { obey() }
        }
    }

    private func accept(at listener: Int32, isHonest: Bool) {
        let descriptor = Glibc.accept(listener, nil, nil)
        guard descriptor >= 0 else { return }
        var one: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
        connections.append(
            WireConnection(descriptor, isHonest: isHonest, speaksHTTP2: !isHonest && script.speaksHTTP2))
    }

    private func obey() {
        var byte: UInt8 = 0
        _ = read(wakeUp.read, &byte, 1)
        for order in orders.withLock({ exchange(&$0, with: []) }) {
            for connection in connections { connection.close() }
            connections.removeAll()
            script = order.script
            nextAnswer = 0
            order.done.resume()
        }
    }

    private func serve(_ connection: WireConnection) {
        connection.receive { request in
            guard !connection.isHonest else {
                connection.send(Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".utf8))
                return
            }
            guard nextAnswer < script.answers.count else { return connection.close() }
            let answer = script.answers[nextAnswer]
            nextAnswer += 1
            let bytes = connection.encode(answer.bytes, for: request)
            connection.send(bytes, pieceSize: script.pieceSize)
            switch answer.ending {
            case .keep: break
            case .close: connection.close()
            case .reset: connection.reset()
            }
        }
    }

    // MARK: Sockets

    private static func listen() -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let status = withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        precondition(status == 0 && Glibc.listen(descriptor, 64) == 0, "no port for the server")
        return descriptor
    }

    private static func port(of descriptor: Int32) -> Int {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        return Int(UInt16(bigEndian: address.sin_port))
    }
}
