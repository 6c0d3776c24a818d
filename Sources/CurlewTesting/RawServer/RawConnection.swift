#if TestKit
internal import NIOCore

/// A connection of a ``RawServer``: reads, writes, and every way to end the connection.
///
/// Only one task may read at a time. Reads and writes throw when the connection is closed or the task is cancelled.
public final class RawConnection: Sendable {
    /// The maximum size for ``readHead()`` and ``readExactly(_:)``: 64 MiB.
    public static let readLimit = 64 << 20

    private let connection: AcceptedConnection
    private let port: ChannelPort<ByteBuffer, ByteBuffer>
    private let leftover = Watched(ByteBuffer())

    init(connection: AcceptedConnection, port: ChannelPort<ByteBuffer, ByteBuffer>) {
        self.connection = connection
        self.port = port
    }

    /// The number of this connection at its server, from 0.
    public var index: Int { self.connection.index }

    /// The result of the TLS handshake; `nil` on a cleartext connection.
    public var tls: HandshakeRecord? { self.connection.tls }

    /// Reads the next bytes, as many as are available; returns `nil` when the peer has ended its direction.
    public func read() async throws -> [UInt8]? {
        let kept = self.takeLeftover()
        if !kept.isEmpty { return kept }
        return try await self.port.next().map { Array(buffer: $0) }
    }

    /// Reads up to and including the next empty line.
    ///
    /// - Throws: ``TestKitError`` when the peer ends its direction before that, or the head is larger than
    ///   ``readLimit``.
    public func readHead() async throws -> String {
        var bytes: [UInt8] = []
        while true {
            guard let piece = try await self.read() else {
                throw TestKitError("the peer ended after \(bytes.count) bytes, inside a head")
            }
            let searchStart = max(0, bytes.count - 3)
            bytes += piece
            if let end = self.endOfHead(in: bytes, from: searchStart) {
                self.putBack(bytes[end...])
                return String(decoding: bytes[..<end], as: UTF8.self)
            }
            guard bytes.count <= Self.readLimit else { throw TestKitError("a head over \(Self.readLimit) bytes") }
        }
    }

    /// Reads the next `count` bytes.
    ///
    /// - Throws: ``TestKitError`` when the peer ends its direction before that, or `count` is larger than
    ///   ``readLimit``.
    public func readExactly(_ count: Int) async throws -> [UInt8] {
        guard count <= Self.readLimit else { throw TestKitError("\(count) bytes are over \(Self.readLimit)") }
        var bytes: [UInt8] = []
        while bytes.count < count {
            guard let piece = try await self.read() else {
                throw TestKitError("the peer ended after \(bytes.count) of \(count) bytes")
            }
            bytes += piece
        }
        self.putBack(bytes[count...])
        return Array(bytes[..<count])
    }

    /// Reads until the peer ends its direction, discards the bytes, and returns their number.
    @discardableResult
    public func drain() async throws -> Int {
        var count = 0
        while let piece = try await self.read() { count += piece.count }
        return count
    }

    /// Sends bytes; suspends while the peer does not receive them.
    public func write(_ bytes: [UInt8]) async throws {
        try await self.port.write(ByteBuffer(bytes: bytes), size: bytes.count)
    }

    /// Sends text as UTF-8.
    public func write(_ text: String) async throws {
        try await self.write(Array(text.utf8))
    }

    /// Returns when all written bytes are in the kernel; on loopback the peer can then read them.
    public func flush() async throws {
        try await self.port.drained()
    }

    /// Ends this side's direction when all bytes are sent; reading remains possible. Over TLS no close_notify is sent,
    /// so that the peer finds its stream truncated.
    public func halfClose() async throws {
        try await self.port.drained()
        try await self.connection.halfClose()
    }

    /// Closes the connection when all bytes are sent, with TLS's close_notify if there is TLS, and returns when it is
    /// closed.
    public func close() async {
        try? await self.port.drained()
        self.connection.close()
        try? await self.connection.channel.closeFuture.get()
    }

    /// Closes the socket when all bytes are sent, without TLS's close_notify.
    public func closeWithoutNotify() async {
        try? await self.port.drained()
        self.connection.abort()
        try? await self.connection.channel.closeFuture.get()
    }

    /// Resets the connection (RST) when all bytes are sent, and returns when the socket is closed.
    public func reset() async {
        try? await self.port.drained()
        self.connection.reset()
        try? await self.connection.channel.closeFuture.get()
    }

    /// Returns when the peer has ended its direction or disconnected; throws when the task is cancelled.
    ///
    /// Await it to stall: the server sends nothing meanwhile. About a megabyte from the peer is still received.
    public var closed: Void {
        get async throws { try await self.port.peerClosed() }
    }

    func finish() async {
        if !Task.isCancelled { try? await self.port.drained() }
        self.connection.close()
    }

    private func endOfHead(in bytes: [UInt8], from start: Int) -> Int? {
        guard bytes.count >= 4 else { return nil }
        return (start...(bytes.count - 4)).first { bytes[$0..<($0 + 4)].elementsEqual([13, 10, 13, 10]) }
            .map { $0 + 4 }
    }

    private func takeLeftover() -> [UInt8] {
        self.leftover.update { kept in
            defer { kept.clear() }
            return Array(buffer: kept)
        }
    }

    private func putBack(_ bytes: ArraySlice<UInt8>) {
        guard !bytes.isEmpty else { return }
        self.leftover.update { kept in
            var merged = ByteBuffer(bytes: bytes)
            merged.writeBuffer(&kept)
            kept = merged
        }
    }
}
#endif
