public import HTTPTypes

extension HTTPSession {
    /// Makes a client with a session of its own and the ``StandardChain``, whose documentation explains what it does and
    /// in which order.
    ///
    /// ```swift
    /// let api = try HTTPSession.standard(baseURL: "https://api.example.com/")
    /// ```
    /// - Parameters:
    ///   - baseURL: What relative references are read against. A slash is added to its path if it lacks one.
    ///   - configuration: How the session works.
    ///   - defaultFields: Fields for every request that does not have them itself.
    ///   - eventLoops: The loops to run on; none means ``CurlewEventLoop/shared``.
    ///   - options: What the chain does.
    /// - Throws: ``CurlewError`` for a URL that cannot be read or a configuration that cannot be used.
    public static func standard(
        baseURL: String? = nil,
        configuration: SessionConfiguration = SessionConfiguration(),
        defaultFields: HTTPFields = HTTPFields(),
        eventLoops: [CurlewEventLoop] = [],
        options: StandardChain.Options = StandardChain.Options()
    ) throws -> HTTPSession {
        try HTTPSession(
            baseURL: baseURL, configuration: configuration, defaultFields: defaultFields, eventLoops: eventLoops
        ) {
            StandardChain(options)
        }
    }
}
