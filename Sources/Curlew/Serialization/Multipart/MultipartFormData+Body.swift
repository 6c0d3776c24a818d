extension MultipartFormData {
    /// The form as a body: for any request, with ``contentType`` as its Content-Type.
    ///
    /// It is read as it is sent: one chunk at a time, of 256 KiB at most unless a stream of yours yields larger ones. A form
    /// without parts is the end alone, `--boundary--`.
    public var body: RequestBody {
        let body = plainBody
        guard let throttle else { return body }
        return body.paced(by: throttle, length: body.length)
    }

    /// Writes the form into a file and returns a body that sends the file; see ``RequestBody/spooled(to:)``. The pace is that of
    /// the sending, not of the writing.
    public func spooled(to path: String) async throws -> RequestBody {
        let body = try await plainBody.spooled(to: path)
        guard let throttle else { return body }
        return body.paced(by: throttle, length: body.length)
    }

    private var plainBody: RequestBody {
        let chunks = FormChunks(form: self)
        guard parts.allSatisfy(\.isReplayable) else { return .once(length: length, chunks) }
        return .stream(length: length) { chunks }
    }
}

extension RequestBody {
    /// A form as a body; the request needs ``MultipartFormData/contentType`` as well.
    public static func multipart(_ form: MultipartFormData) -> RequestBody { form.body }
}
