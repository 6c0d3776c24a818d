import Curlew
import Dispatch
import Glibc

/// The embedded server of the tour: HTTP/1.1 over blocking sockets, with a thread for each connection. It implements
/// only the requests of the tour; the tests use `MockServer`, which takes minutes to build.
final class DemoServer: Sendable {
    private let listener: Int32
    /// The base URL of the server.
    let url: String

    /// Listens on a free loopback port.
    init() throws {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = listener
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                guard bind(listener, pointer, length) == 0, listen(listener, 16) == 0 else { return Int32(-1) }
                return getsockname(listener, pointer, &length)
            }
        }
        guard result == 0 else { throw CurlewError(.connectionFailed, "the demo's server cannot listen") }
        url = "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))/"
        // Serial queues have their own threads; a concurrent queue waits a second before it notices that its threads
        // block.
        DispatchQueue(label: "listener").async { [listener] in
            while case let socket = accept(listener, nil, nil), socket >= 0 {
                DispatchQueue(label: "connection").async { DemoConnection(socket).serve() }
            }
        }
    }

    /// Stops listening. Its connections end when the client closes them.
    func shutdown() { _ = Glibc.shutdown(listener, Int32(SHUT_RDWR)) }

    deinit { close(listener) }
}

/// A connection of the server, as long as the client keeps it open.
private final class DemoConnection {
    private let socket: Int32
    private var buffer = [UInt8](repeating: 0, count: 256 << 10)
    /// The bytes that were read but not yet used.
    private var unread = 0..<0
    /// True after every other request for `/unsteady`.
    private var hasFailed = false

    init(_ socket: Int32) {
        self.socket = socket
        var on: Int32 = 1
        setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
    }

    deinit { close(socket) }

    func serve() {
        while let head = readHead(), answer(head) {}
    }

    /// Answers a request.
    /// - Returns: False if the connection has failed.
    private func answer(_ head: Head) -> Bool {
        if head.expectsContinue, !send("HTTP/1.1 100 Continue\r\n\r\n") { return false }
        switch head.path {
        case "/greeting":
            return send(json: #"{"name":"curlew","words":["hello","there"]}"#)
        case "/echo":
            var text: [UInt8] = []
            return readBody(head) { text += $0 } && send(json: String(decoding: text, as: UTF8.self))
        case "/upload", "/form":
            var count = 0
            return readBody(head) { count += $0.count } && send(type: "text/plain", "\(count)")
        case "/download":
            return sendDownload()
        case "/birds/curlew":
            return send(json: #"{"name":"curlew","legs":2}"#)
        case "/songs":
            return sendSongs()
        case "/unsteady":
            hasFailed.toggle()
            if hasFailed { return send("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n") }
            return send(json: #"{"name":"curlew","legs":2}"#)
        default:
            return send("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        }
    }

    private func readHead() -> Head? {
        var bytes: [UInt8] = []
        while bytes.count < 16 << 10 {
            guard !unread.isEmpty || fill() else { return nil }
            bytes.append(buffer[unread.lowerBound])
            unread = (unread.lowerBound + 1)..<unread.upperBound
            if bytes.last == 0x0A, bytes.suffix(4) == [0x0D, 0x0A, 0x0D, 0x0A] {
                return Head(String(decoding: bytes, as: UTF8.self))
            }
        }
        return nil
    }

    /// Reads a body in pieces.
    /// - Returns: False if the body is truncated.
    private func readBody(_ head: Head, _ use: (ArraySlice<UInt8>) -> Void) -> Bool {
        var left = head.length
        while left > 0 {
            guard !unread.isEmpty || fill() else { return false }
            let piece = unread.prefix(left)
            use(buffer[piece])
            left -= piece.count
            unread = piece.upperBound..<unread.upperBound
        }
        return true
    }

    private func fill() -> Bool {
        let count = buffer.withUnsafeMutableBytes { recv(socket, $0.baseAddress, $0.count, 0) }
        unread = 0..<max(0, count)
        return count > 0
    }

    private func sendDownload() -> Bool {
        let size = Demo.downloadSize
        guard send("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n") else { return false }
        let chunk = [UInt8](repeating: 0x2E, count: Chunks.size)
        for _ in 0..<(size / chunk.count) {
            guard send(bytes: chunk) else { return false }
        }
        return true
    }

    /// Sends three events, with a pause before each.
    private func sendSongs() -> Bool {
        guard send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n") else {
            return false
        }
        for song in ["cur-lee", "cur-lee", "curlew-urlew"] {
            usleep(200_000)
            let event = "data: \(song)\n\n"
            guard send("\(String(event.utf8.count, radix: 16))\r\n\(event)\r\n") else { return false }
        }
        return send("0\r\n\r\n")
    }

    private func send(json text: String) -> Bool { send(type: "application/json", text) }

    private func send(type: String, _ text: String) -> Bool {
        send("HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)")
    }

    private func send(_ text: String) -> Bool { send(bytes: Array(text.utf8)) }

    private func send(bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { bytes in
            var sent = 0
            while sent < bytes.count {
                let count = Glibc.send(
                    socket, bytes.baseAddress?.advanced(by: sent), bytes.count - sent, Int32(MSG_NOSIGNAL))
                guard count > 0 else { return false }
                sent += count
            }
            return true
        }
    }
}

/// The parsed part of a request's head.
private struct Head {
    let path: String
    var length = 0
    var expectsContinue = false

    init?(_ text: String) {
        let lines = text.split(separator: "\r\n")
        guard let words = lines.first?.split(separator: " "), words.count == 3 else { return nil }
        path = String(words[1])
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { return nil }
            let value = parts[1].drop { $0 == " " }
            switch parts[0].lowercased() {
            case "content-length": length = Int(value) ?? 0
            case "expect": expectsContinue = value == "100-continue"
            default: break
            }
        }
    }
}
