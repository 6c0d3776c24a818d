#if TestKit
// The server side of HTTP/2, frame by frame. Over TLS the server must offer `h2` in ALPN.
extension RawConnection {
    /// The first bytes of a client (RFC 9113, section 3.4).
    public static let http2Preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    /// Reads the client's preface.
    ///
    /// - Throws: ``TestKitError`` when other bytes arrive.
    public func readPreface() async throws {
        let bytes = try await self.readExactly(Self.http2Preface.count)
        guard bytes == Self.http2Preface else { throw TestKitError("no HTTP/2 preface") }
    }

    /// Reads the next frame of any type.
    public func readFrame() async throws -> HTTP2WireFrame {
        let head = try await self.readExactly(9)
        let length = Int(UInt32(bigEndian: head[0..<3]))
        return HTTP2WireFrame(
            kind: .init(rawValue: head[3]),
            flags: .init(rawValue: head[4]),
            stream: UInt32(bigEndian: head[5..<9]) & 0x7fff_ffff,
            payload: try await self.readExactly(length)
        )
    }

    /// Reads up to the next frame that satisfies `condition`. Other frames are answered if they are SETTINGS or PING,
    /// and discarded.
    public func readFrame(where condition: (HTTP2WireFrame) -> Bool) async throws -> HTTP2WireFrame {
        while true {
            let frame = try await self.readFrame()
            if condition(frame) { return frame }
            guard !frame.flags.contains(.acknowledgement) else { continue }
            if frame.kind == .settings { try await self.write(.settingsAcknowledgement) }
            if frame.kind == .ping { try await self.write(.ping(frame.payload, isAnswer: true)) }
        }
    }

    /// Sends frames in one write.
    public func write(_ frames: HTTP2WireFrame...) async throws {
        try await self.write(frames.flatMap(\.bytes))
    }

    /// Opens the server side: reads the preface and sends SETTINGS.
    ///
    /// The next ``readFrame(where:)`` acknowledges the client's SETTINGS.
    public func openHTTP2(settings: [(HTTP2WireFrame.Setting, UInt32)] = []) async throws {
        try await self.readPreface()
        try await self.write(.settings(settings))
    }

    /// Waits for the HEADERS of the next request and returns its stream. Other frames are answered if they are SETTINGS
    /// or PING, and discarded.
    public func readRequestStream() async throws -> UInt32 {
        try await self.readFrame { $0.kind == .headers }.stream
    }

    /// Opens the server side, waits for the first request, and returns its stream.
    public func acceptHTTP2Request(settings: [(HTTP2WireFrame.Setting, UInt32)] = []) async throws -> UInt32 {
        try await self.openHTTP2(settings: settings)
        return try await self.readRequestStream()
    }
}
#endif
