#if Service
public import Curlew
public import NIOCore

// Bodies of requests in SwiftNIO's buffers.

extension CurlewRequest.Body {
    /// So many bytes of a buffer are copied at a time, if it is longer.
    private static let part = 256 << 10

    /// The readable bytes of a buffer. They can be sent again.
    ///
    /// Up to 256 KiB are copied at once; a longer buffer is kept, and copied part by part while it is sent.
    public static func buffer(_ buffer: ByteBuffer) -> CurlewRequest.Body {
        guard buffer.readableBytes > part else { return .bytes(Array(buffer.readableBytesView)) }
        return .stream(length: Int64(buffer.readableBytes)) { BufferParts(buffer: buffer, size: part) }
    }

    /// Buffers as they arrive, such as the body of a request that a server is receiving. They cannot be sent again: a redirect, a
    /// retry or a challenge that would need that is ``Curlew/ErrorCode/bodyNotReplayable``.
    ///
    /// The bytes are copied once, from the buffers into libcurl's memory; nothing more is asked of `buffers` than fits into
    /// ``Curlew/SessionConfiguration/bodyBufferSize``.
    ///
    /// - Important: The sequence is read by a task of its own, which is cancelled when the exchange ends. Where an answer comes
    ///   before the body was read to its end, a server's connection may not be of use after that.
    ///   ``Curlew/HTTPSession/forward(_:body:from:isSecure:to:as:options:)`` has a remedy.
    /// - Parameters:
    ///   - buffers: The body.
    ///   - length: The number of bytes that it will have; nil sends it chunked. Another number is
    ///     ``Curlew/ErrorCode/bodyLengthMismatch``.
    public static func once<Buffers: AsyncSequence & Sendable>(
        _ buffers: Buffers, length: Int64? = nil
    ) -> CurlewRequest.Body where Buffers.Element == ByteBuffer {
        .relayed(ReceivedBody(buffers, endsWithTransfer: true), length: length)
    }

    /// Buffers made anew by `make` for each sending. The bytes are copied twice.
    /// - Parameters:
    ///   - length: The number of bytes that every sequence will have; nil sends the body chunked.
    ///   - make: Makes a sequence, each time from the body's first byte on.
    public static func stream<Buffers: AsyncSequence & Sendable>(
        length: Int64? = nil, _ make: @escaping @Sendable () async throws -> Buffers
    ) -> CurlewRequest.Body where Buffers.Element == ByteBuffer {
        .stream(length: length) { BufferBytes(base: try await make()) }
    }
}

/// The parts of a long buffer.
private struct BufferParts: AsyncSequence, Sendable {
    let buffer: ByteBuffer
    let size: Int

    struct Iterator: AsyncIteratorProtocol {
        var buffer: ByteBuffer
        let size: Int

        mutating func next(isolation actor: isolated (any Actor)?) async -> [UInt8]? {
            guard buffer.readableBytes > 0 else { return nil }
            return buffer.readBytes(length: Swift.min(size, buffer.readableBytes))
        }

        mutating func next() async -> [UInt8]? { await next(isolation: #isolation) }
    }

    func makeAsyncIterator() -> Iterator { Iterator(buffer: buffer, size: size) }
}

/// The bytes of buffers, buffer by buffer.
private struct BufferBytes<Base: AsyncSequence & Sendable>: AsyncSequence, Sendable where Base.Element == ByteBuffer {
    let base: Base

    struct Iterator: AsyncIteratorProtocol {
        var base: Base.AsyncIterator

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> [UInt8]? {
            while let buffer = try await base.next(isolation: actor) {
                if buffer.readableBytes > 0 { return Array(buffer.readableBytesView) }
            }
            return nil
        }

        mutating func next() async throws -> [UInt8]? { try await next(isolation: #isolation) }
    }

    func makeAsyncIterator() -> Iterator { Iterator(base: base.makeAsyncIterator()) }
}
#endif
