import Curlew
import CurlewTesting
import HTTPTypes
import SeededNumbers

/// The servers of a soak, and their behaviour.
enum SoakMode: String, CaseIterable, CustomStringConvertible, Sendable {
    /// Servers of both versions of HTTP fail at random moments.
    case faults
    /// Connections end after some requests, with and without a pending request.
    case closing
    /// Connections to one host speak HTTP/1.1 or HTTP/2 at random.
    case mixed
    /// Streams are refused, and connections announce their end.
    case refusing
    /// A single stream per connection is served at a time, and others are refused.
    case oneStream = "one-stream"
    /// Uploads are answered before they have been read.
    case early

    var description: String { rawValue }

    /// True if no idempotent request may fail: a good connection can always be made.
    var losesNothing: Bool { self != .faults && self != .early }

    func servers(_ certificate: HeldCertificate) async throws -> [SoakServer] {
        switch self {
        case .faults:
            [
                try await mock([.http11]), try await mock([.http11], ServerTLS([certificate])),
                try await mock([.http2], ServerTLS([certificate])),
            ]
        case .closing: [try await closing(nil), try await closing(ServerTLS([certificate]))]
        case .mixed:
            [
                try await mock([.http2, .http11], mixed(certificate)),
                try await mock([.http2, .http11], mixed(certificate)),
            ]
        case .refusing:
            [
                try await mock([.http2], ServerTLS([certificate])), try await mock([.http2]), try await ending(nil),
                try await ending(ServerTLS([certificate], applicationProtocols: ["h2"])),
            ]
        case .oneStream:
            [try await oneStream(nil), try await oneStream(ServerTLS([certificate], applicationProtocols: ["h2"]))]
        case .early:
            [
                try await mock([.http11]), try await mock([.http2], ServerTLS([certificate])), try await mock([.http2]),
            ]
        }
    }

    private func mixed(_ certificate: HeldCertificate) -> ServerTLS {
        var tls = ServerTLS([certificate])
        var random = SeededNumbers(seed: 1)
        tls.firstApplicationProtocols = (0..<10_000).map { _ in random.next(upTo: 2) == 0 ? ["h2"] : ["http/1.1"] }
        return tls
    }

    private func mock(_ versions: [ProtocolVersion], _ tls: ServerTLS? = nil) async throws -> SoakServer {
        var configuration = MockServer.Configuration()
        configuration.protocols = versions
        configuration.recordedBodyLimit = 0
        configuration.recordedRequestLimit = 1
        configuration.tls = tls
        let isEarly = self == .early
        let server = try await MockServer.start(configuration) { request in
            guard isEarly, request.method == .put else { return try await Exchange.response(to: request) }
            return MockResponse(status: .contentTooLarge, body: .bytes(Array(request.path.utf8)))
        }
        return SoakServer(.mock(server), isHTTP2: versions == [.http2], usesTLS: tls != nil)
    }

    /// A server that ends each connection after some responses: at once, or when the next request arrives.
    private func closing(_ tls: ServerTLS?) async throws -> SoakServer {
        let server = try await RawServer.start(tls: tls) { connection in
            for _ in 0...(connection.index % 7) {
                let head = try await connection.readHead()
                guard let path = head.split(separator: " ").dropFirst().first.map(String.init),
                    let exchange = Exchange(path: path)
                else { return }
                if exchange.kind == .upload {
                    let body = try await connection.readExactly(exchange.size)
                    guard body == exchange.content else { return }
                }
                let body = exchange.expected
                try await connection.write(
                    Array("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n".utf8) + body)
            }
            guard connection.index % 3 > 0 else { return }
            _ = try await connection.readHead()
            if connection.index % 3 == 1 { await connection.reset() }
        }
        return SoakServer(.raw(server), isHTTP2: false, usesTLS: tls != nil)
    }

    /// A server that echoes the body of one stream of each connection at a time.
    private func oneStream(_ tls: ServerTLS?) async throws -> SoakServer {
        let server = try await RawServer.start(tls: tls) { connection in
            try await connection.openHTTP2(settings: [(.maxConcurrentStreams, 1)])
            var served: UInt32?
            var body: [UInt8] = []
            while true {
                let frame = try await connection.readFrame {
                    $0.kind == .headers || $0.kind == .data || $0.kind == .resetStream
                }
                switch frame.kind {
                case .headers where served == nil: (served, body) = (frame.stream, [])
                case .headers: try await connection.write(.resetStream(frame.stream, .refusedStream))
                case .data where frame.stream == served:
                    body += frame.payload
                    if !frame.payload.isEmpty {
                        let count = UInt32(frame.payload.count)
                        try await connection.write(
                            .windowUpdate(increment: count), .windowUpdate(stream: frame.stream, increment: count))
                    }
                default: if frame.stream == served { served = nil }
                }
                guard frame.stream == served, frame.flags.contains(.endStream) else { continue }
                try await connection.echo(body, on: frame.stream)
                served = nil
            }
        }
        return SoakServer(.raw(server), isHTTP2: true, usesTLS: tls != nil, takesUploadsAlone: true)
    }

    /// A server that echoes bodies, and announces the end of each connection after some requests.
    private func ending(_ tls: ServerTLS?) async throws -> SoakServer {
        let server = try await RawServer.start(tls: tls) { connection in
            try await connection.openHTTP2()
            let limit = 1 + connection.index % 20
            var count = 0
            var bodies: [UInt32: [UInt8]] = [:]
            while true {
                let frame = try await connection.readFrame {
                    $0.kind == .headers || $0.kind == .data || $0.kind == .resetStream
                }
                if frame.kind == .headers, count < limit {
                    count += 1
                    bodies[frame.stream] = []
                    if count == limit { try await connection.write(.goAway(lastStream: frame.stream, .noError)) }
                }
                if frame.kind == .data, !frame.payload.isEmpty {
                    let length = UInt32(frame.payload.count)
                    try await connection.write(.windowUpdate(increment: length))
                    guard bodies[frame.stream] != nil else { continue }
                    bodies[frame.stream]? += frame.payload
                    try await connection.write(.windowUpdate(stream: frame.stream, increment: length))
                }
                if frame.kind == .resetStream { bodies[frame.stream] = nil }
                guard frame.flags.contains(.endStream), let body = bodies.removeValue(forKey: frame.stream) else {
                    continue
                }
                try await connection.echo(body, on: frame.stream)
            }
        }
        return SoakServer(.raw(server), isHTTP2: true, usesTLS: tls != nil, takesUploadsAlone: true)
    }
}

extension RawConnection {
    /// A response with this body.
    fileprivate func echo(_ body: [UInt8], on stream: UInt32) async throws {
        try await write(.response(stream: stream, status: 200, fields: [("content-length", "\(body.count)")]))
        for start in stride(from: 0, to: body.count, by: 16_384) {
            try await write(.data(stream: stream, Array(body[start..<min(start + 16_384, body.count)])))
        }
        try await write(.data(stream: stream, [], endStream: true))
    }
}

/// A server, and its possible faults.
struct SoakServer: Sendable {
    enum Kind: Sendable {
        case mock(MockServer)
        case raw(RawServer)
    }

    private let kind: Kind
    let isHTTP2: Bool
    let usesTLS: Bool
    /// True if the server reads no fields, and echoes bodies.
    let takesUploadsAlone: Bool

    init(_ kind: Kind, isHTTP2: Bool, usesTLS: Bool, takesUploadsAlone: Bool = false) {
        self.kind = kind
        self.isHTTP2 = isHTTP2
        self.usesTLS = usesTLS
        self.takesUploadsAlone = takesUploadsAlone
    }

    func url(_ path: String) -> String {
        switch kind {
        case .mock(let server): server.url(path)
        case .raw(let server): server.url(path)
        }
    }

    func shutdown() async {
        switch kind {
        case .mock(let server): await server.shutdown()
        case .raw(let server): await server.shutdown()
        }
    }

    /// Injects a fault for the next exchange or connection.
    func `break`(_ random: inout SeededNumbers, in mode: SoakMode) {
        guard case .mock(let mock) = kind else { return }
        switch mode {
        case .faults: fail(mock, &random)
        case .refusing:
            // Only one fault is active, because a request may be refused a limited number of times.
            mock.removeFaults()
            guard random.next(upTo: 3) == 0 else { return }
            try? mock.inject(Fault(.atRequestStart, .resetStream(.refusedStream)))
        case .closing, .mixed, .oneStream, .early: break
        }
    }

    private func fail(_ mock: MockServer, _ random: inout SeededNumbers) {
        let bytes = Int(random.next() % 30_000)
        let triggers: [Fault.Trigger] = [
            .onAccept, .afterHandshake, .atRequestStart, .inRequestBody(after: bytes), .atResponseStart,
            .inResponseBody(after: bytes), .atResponseEnd,
        ]
        let trigger = triggers[Int(random.next() % UInt64(triggers.count))]
        var effects: [Fault.Effect] = [.close, .reset, .halfClose, .stall]
        // Garbage within a body of HTTP/1.1 looks like content until the content ends too early.
        if isHTTP2 || trigger != .inResponseBody(after: bytes) { effects.append(.garbage(Array("?!?!?!?!?!".utf8))) }
        if usesTLS { effects.append(.truncatedTLS) }
        if isHTTP2 { effects += [.goAway(.noError), .resetStream(.cancel), .resetStream(.refusedStream)] }
        let effect = effects[Int(random.next() % UInt64(effects.count))]
        // Pending faults are removed first. An effect that is impossible at this trigger is skipped.
        mock.removeFaults()
        try? mock.inject(Fault(trigger, effect))
    }
}
