/// A body that another library receives while it is sent: chunks in that library's own memory, read once.
package protocol RelayedBody: AnyObject, Sendable {
    /// True if the task that reads the body is cancelled when the transfer ends. Where a cancelled read would end the connection
    /// that the body comes from, it is not, and whoever made the body sees to the end of the reading.
    var endsWithTransfer: Bool { get }

    /// The next chunk; nil at the end. One reader at a time.
    func next() async throws -> (any BodyChunk)?
}

/// Bytes in the memory of another library.
package protocol BodyChunk: Sendable {
    var count: Int { get }
    func copy(from offset: Int, into space: UnsafeMutableRawBufferPointer)
}

extension BodyChunk {
    /// The bytes in an array.
    package var array: [UInt8] {
        Array(unsafeUninitializedCapacity: count) { space, initialized in
            copy(from: 0, into: UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(space)[..<count]))
            initialized = count
        }
    }
}

extension CurlewRequest.Body {
    /// A body that is received while it is sent. It cannot be replayed.
    /// - Parameter length: The number of bytes that it will have; nil sends it chunked.
    package static func relayed(_ body: any RelayedBody, length: Int64?) -> CurlewRequest.Body {
        CurlewRequest.Body(source: .relayed(body), length: length)
    }
}

/// The chunks of a relayed body in arrays, for a link that makes another body of them.
struct RelayedChunks: AsyncSequence, Sendable {
    let body: any RelayedBody

    struct Iterator: AsyncIteratorProtocol {
        let body: any RelayedBody

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> [UInt8]? {
            try await body.next()?.array
        }

        mutating func next() async throws -> [UInt8]? { try await next(isolation: #isolation) }
    }

    func makeAsyncIterator() -> Iterator { Iterator(body: body) }
}
