internal import Glibc

@testable internal import CurlewWebSockets

/// A server that accepts a WebSocket for each script and sends the script's frames over it.
struct FrameServer: Sendable {
    private let listener: Int32
    private let port: Int
    private static let sending = Int32(MSG_NOSIGNAL)
    /// The maximum wait for a client, in milliseconds.
    private static let patience: Int32 = 10_000

    init() {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = listener
        let status = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                guard bind(descriptor, $0, length) == 0, listen(descriptor, 64) == 0 else { return Int32(-1) }
                return getsockname(descriptor, $0, &length)
            }
        }
        precondition(status == 0, "no port for the server")
        port = Int(UInt16(bigEndian: address.sin_port))
    }

    var url: String { "ws://127.0.0.1:\(port)/" }

    /// Serves one client in a separate thread. The wait for the client is limited.
    func serve(_ script: Script) -> Task<Void, Never> {
        let (done, end) = AsyncStream.makeStream(of: Void.self)
        let run = Run(listener: listener, script: script) { end.finish() }
        var thread = pthread_t()
        let status = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                let run = Unmanaged<Run>.fromOpaque(context).takeRetainedValue()
                run.serve()
                run.done()
                return nil
            }, Unmanaged.passRetained(run).toOpaque())
        precondition(status == 0, "no thread for the server")
        pthread_detach(thread)
        return Task { for await _ in done {} }
    }

    private final class Run: Sendable {
        let listener: Int32
        let script: Script
        let done: @Sendable () -> Void

        init(listener: Int32, script: Script, done: @escaping @Sendable () -> Void) {
            self.listener = listener
            self.script = script
            self.done = done
        }

        func serve() {
            // A cancelled client may not connect. The client of an earlier script may have left before it was accepted.
            while isReadable(listener, script.use == .cancelled ? 100 : FrameServer.patience) {
                let descriptor = accept(listener, nil, nil)
                guard descriptor >= 0 else { return }
                defer { close(descriptor) }
                var one: Int32 = 1
                setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
                guard let key = readKey(descriptor), let accepted = HandshakeKey(key)?.acceptValue else { continue }
                return serve(descriptor, accepted)
            }
        }

        private func serve(_ descriptor: Int32, _ accepted: String) {
            let compression = script.isCompressed ? "Sec-WebSocket-Extensions: permessage-deflate\r\n" : ""
            send(
                Array(
                    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\(compression)Sec-WebSocket-Accept: \(accepted)\r\n\r\n"
                        .utf8), to: descriptor)
            var rest = script.frames[...]
            while !rest.isEmpty {
                let piece = rest.prefix(script.pieceSize)
                rest = rest[piece.endIndex...]
                guard send(Array(piece), to: descriptor) else { return }
            }
            switch script.ending {
            case .close:
                shutdown(descriptor, Int32(SHUT_WR))
                drain(descriptor)
            case .reset:
                var linger = linger(l_onoff: 1, l_linger: 0)
                setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
            case .keep: drain(descriptor)
            }
        }

        private func isReadable(_ descriptor: Int32, _ milliseconds: Int32) -> Bool {
            var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            return poll(&polled, 1, milliseconds) > 0
        }

        @discardableResult
        private func send(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
            bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, FrameServer.sending) }
                == bytes.count
        }

        /// Reads until the client has ended its side.
        private func drain(_ descriptor: Int32) {
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            while isReadable(descriptor, FrameServer.patience), recv(descriptor, &buffer, buffer.count, 0) > 0 {}
        }

        private func readKey(_ descriptor: Int32) -> String? {
            var head: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            while !head.ends(with: Array("\r\n\r\n".utf8)) {
                guard isReadable(descriptor, FrameServer.patience) else { return nil }
                let count = recv(descriptor, &buffer, buffer.count, 0)
                guard count > 0 else { return nil }
                head += buffer[..<count]
            }
            let name = "sec-websocket-key: "
            return String(decoding: head, as: UTF8.self).split(separator: "\r\n")
                .first { $0.lowercased().hasPrefix(name) }.map { String($0.dropFirst(name.count)) }
        }
    }
}

extension [UInt8] {
    fileprivate func ends(with word: [UInt8]) -> Bool { suffix(word.count).elementsEqual(word) }
}
