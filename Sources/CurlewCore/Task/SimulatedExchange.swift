package import HTTPTypes

// Support for transports without a network, so that they treat requests, bodies and errors as the real one does.

extension CurlewRequest {
    /// Checks the request by the rules for sending.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` and others, as ``SessionActor`` does.
    package func checkForSending() throws {
        var check = RequestCheck()
        try check.take(self, length: try body.lengthNow())
    }
}

extension CurlewRequest.Body {
    /// Reads the body once, as sending does: a body that can be read only once is used up.
    /// - Parameter limit: The largest number of bytes; a longer body is ``ErrorCode/bodyFailed``.
    /// - Throws: ``CurlewError`` if the body fails, is used up, or differs from its promised length.
    package func collectForSending(upTo limit: Int) async throws -> [UInt8] {
        let sink = CollectingSink(limit: limit)
        let body = try watchingFile()
        let (source, length) = (body.source, body.length)
        if case .bytes(let bytes) = source {
            _ = await sink.write(bytes)
        } else {
            await UploadPump.run(source, length: length, into: sink)
        }
        let bytes = try sink.collected()
        if let length, Int64(bytes.count) != length {
            throw CurlewError(.bodyLengthMismatch, "the body has fewer than the \(length) bytes that it promised")
        }
        return bytes
    }
}

extension CurlewError {
    /// A copy of the error with the context of its exchange; values that the error already has stay.
    package func adding(
        method: HTTPRequest.Method? = nil, uri: CurlewURI? = nil, stage: Stage = .preparing,
        response: HTTPResponse? = nil
    ) -> CurlewError {
        adding(Context(method: method, uri: uri, stage: stage, response: response))
    }
}
