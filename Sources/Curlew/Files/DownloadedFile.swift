public import HTTPTypes

/// A file that a body was written into, whole.
public struct DownloadedFile: Sendable {
    /// Where it is: as ``Destination`` has it, with a number in its name if ``ExistingFile/unique`` gave it one.
    public let path: String
    /// Its size in bytes.
    public let size: Int64
    /// The head of the response.
    public let response: HTTPResponse
    /// The URI that answered.
    public let uri: URI
    /// Its digest, which was checked; nil if there was nothing to check it against.
    public let digest: ContentDigest?
    /// The redirects that led there, first to last.
    public let history: [Hop]

    init(path: String, size: Int64, digest: ContentDigest?, of response: Response) {
        self.path = path
        self.size = size
        self.response = response.head
        uri = response.uri
        self.digest = digest
        history = response.history
    }
}

extension Response {
    private enum FileKey: Key { static let defaultValue: DownloadedFile? = nil }

    /// The file that the body was written into, if ``RequestOptions/onResponse`` wanted that.
    public internal(set) var file: DownloadedFile? {
        get { self[FileKey.self] }
        set { self[FileKey.self] = newValue }
    }
}
