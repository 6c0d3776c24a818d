/// A stream that is handed out once.
actor OneShot {
    private var stream: RequestBody.Stream?

    init(_ stream: RequestBody.Stream) { self.stream = stream }

    /// The stream, the first time; nil afterwards.
    func take() -> RequestBody.Stream? {
        defer { stream = nil }
        return stream
    }
}
