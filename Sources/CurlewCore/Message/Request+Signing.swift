extension CurlewRequest {
    /// The request target as it is sent: the path and the query, such as `/v1/birds?page=2` (RFC 9112 §3.2.1).
    public var target: String { uri.query.map { "\(uri.path)?\($0)" } ?? uri.path }
}

extension CurlewRequest.Body {
    /// Reads the complete body into memory, for a link that signs it.
    ///
    /// A body that can be read only once is used up by this call: the link sends the bytes in its place
    /// (``bytes(_:)``).
    ///
    /// ```swift
    /// let bytes = try await request.body.collect(upTo: .mebibytes(1))
    /// request.body = .bytes(bytes)
    /// request.fields[.init("X-Signature")!] = sign("\(request.method) \(request.target)", bytes)
    /// ```
    /// - Parameter limit: The most bytes to collect.
    /// - Throws: ``CurlewError`` with ``ErrorCode/bodyFailed`` for a body that is larger or cannot be read;
    ///   ``ErrorCode/bodyNotReplayable`` if it was used up before.
    public func collect(upTo limit: ByteSize) async throws -> [UInt8] {
        if let length, length > limit.bytes { throw Self.tooLarge(limit) }
        var collected: [UInt8] = []
        do {
            for try await chunk in try await stream() {
                guard collected.count + chunk.count <= limit.bytes else { throw Self.tooLarge(limit) }
                collected += chunk
            }
        } catch let error as CurlewError {
            throw error
        } catch is CancellationError {
            throw CurlewError(CancellationError())
        } catch {
            throw CurlewError(.bodyFailed, "the body cannot be read", underlying: error)
        }
        return collected
    }

    private static func tooLarge(_ limit: ByteSize) -> CurlewError {
        CurlewError(.bodyFailed, "the body is larger than \(limit)")
    }
}
