extension SessionActor {
    /// Makes a task that sends a body and gives its response to the caller. It starts suspended.
    ///
    /// Content-Length is sent wherever the length is known; a body of unknown length goes out chunked over HTTP/1.1.
    /// ``TaskActor/progress`` counts what was sent.
    /// - Parameters:
    ///   - request: The request. Its method should be one that takes a body.
    ///   - body: What is sent, in the place of the request's own.
    /// - Throws: ``CurlewError`` if the request cannot be sent as it stands, and if a file is not there or too short.
    public nonisolated func uploadTask(_ request: Request, from body: RequestBody) throws -> TaskActor {
        var request = request
        request.body = body
        request.options.kind = .upload
        return try dataTask(request)
    }
}
