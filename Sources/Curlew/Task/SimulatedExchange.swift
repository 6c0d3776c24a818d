package import HTTPTypes

// What a transport without a network needs in order to treat requests, bodies and errors as the real one does.

extension CurlewRequest {
    /// Checks the request as it is checked before it leaves.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` and others, as ``SessionActor`` would.
    package func checkForSending() throws {
        var check = RequestCheck()
        try check.take(self, length: try body.lengthNow())
    }
}

extension CurlewRequest.Body {
    /// Reads the body once, as sending it does: what can be read only once is used up.
    /// - Parameter limit: The most bytes to take; more is ``ErrorCode/bodyFailed``.
    /// - Throws: ``CurlewError`` if the body fails, has been used up, or is not as long as it promised.
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
    /// The same error with what is known of its exchange; what it already knew stays.
    package func adding(
        method: HTTPRequest.Method? = nil, uri: CurlewURI? = nil, stage: Stage = .preparing,
        response: HTTPResponse? = nil
    ) -> CurlewError {
        adding(Context(method: method, uri: uri, stage: stage, response: response))
    }
}
