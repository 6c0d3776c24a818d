internal import HTTPTypes

extension CurlewError.Context {
    private enum ResumeTokenKey: CurlewError.Key { typealias Value = ResumeToken }
    private enum FileKey: CurlewError.Key { typealias Value = String }

    /// What a download can go on with.
    var resumeToken: ResumeToken? {
        get { self[ResumeTokenKey.self] }
        set { self[ResumeTokenKey.self] = newValue }
    }

    /// Where the bytes lie that did not get to their destination.
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
    /// What a download that failed or was cancelled can go on with; nil if it can only begin anew.
    public var resumeToken: ResumeToken? { context.resumeToken }

    /// Where a body lies that was written whole and could not be given its name: the path of a file that is left to the
    /// caller. nil if there is none.
    public var file: String? { context.file }
}
