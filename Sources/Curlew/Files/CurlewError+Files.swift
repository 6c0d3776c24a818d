internal import HTTPTypes

extension CurlewError.Context {
    private enum ResumeTokenKey: CurlewError.Key { typealias Value = ResumeToken }
    private enum FileKey: CurlewError.Key { typealias Value = String }

    /// The token that a download can be resumed with.
    var resumeToken: ResumeToken? {
        get { self[ResumeTokenKey.self] }
        set { self[ResumeTokenKey.self] = newValue }
    }

    /// The path of the bytes that did not get to their destination.
    var file: String? {
        get { self[FileKey.self] }
        set { self[FileKey.self] = newValue }
    }

    init(method: HTTPRequest.Method? = nil, uri: URI? = nil, resumeToken: ResumeToken?) {
        self.init(method: method, uri: uri)
        self.resumeToken = resumeToken
    }

    init(file: String?) {
        self.init()
        self.file = file
    }
}

extension CurlewError {
    /// The token that a download which failed or was cancelled can be resumed with; nil if it can only restart.
    public var resumeToken: ResumeToken? { context.resumeToken }

    /// The path of a body that was written whole and could not be given its name: a file that is left to the caller.
    /// nil if there is none.
    public var file: String? { context.file }
}
