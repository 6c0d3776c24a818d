/// A body that is sent while another library receives it: chunks in that library's memory, read once.
package protocol RelayedBody: AnyObject, Sendable {
    /// True if the task that reads the body is cancelled when the transfer ends.
    /// False where a cancelled read would end the connection that the body comes from; the maker of the body then
    /// finishes the reading.
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
    /// A body that is sent while it is received. It cannot be replayed.
    /// - Parameter length: The number of bytes that the body will have; nil sends it chunked.
    package static func relayed(_ body: any RelayedBody, length: Int64?) -> CurlewRequest.Body {
        CurlewRequest.Body(source: .relayed(body), length: length)
    }
}

/// The chunks of a relayed body as arrays, for a link that makes another body of them.
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
