package import Curlew

extension MultipartFormData {
    /// A form whose boundary is `B`.
    package static func test() throws -> MultipartFormData { try MultipartFormData(boundary: "B") }

    /// The complete body as text.
    package func text() async throws -> String { String(decoding: try await body.bytes(), as: UTF8.self) }
}

extension CurlewRequest.Body {
    /// The complete body.
    package func bytes() async throws -> [UInt8] {
        var bytes: [UInt8] = []
        for try await chunk in try await stream() { bytes += chunk }
        return bytes
    }
}

/// A stream of chunks that are available at once.
package func chunks(_ chunks: [[UInt8]]) -> AsyncStream<[UInt8]> {
    AsyncStream { continuation in
        for chunk in chunks { continuation.yield(chunk) }
        continuation.finish()
    }
}

/// A stream that yields a chunk and then fails.
package func failing(after chunk: [UInt8], _ error: any Error) -> AsyncThrowingStream<[UInt8], any Error> {
    AsyncThrowingStream { continuation in
        continuation.yield(chunk)
        continuation.finish(throwing: error)
    }
}
