internal import HTTPTypes

/// How a protocol of resumable uploads says what it says. It keeps nothing: what is known of an upload is in its token.
protocol UploadDialect: Sendable {
    var name: UploadDialectName { get }
    /// The digests that requests may carry, the best first; none if the server takes none.
    var digests: [UploadDigest] { get }

    /// The request that creates an upload.
    /// - Parameter length: The bytes of the file, or of the part of it that is an upload of its own.
    func creation(method: HTTPRequest.Method, length: Int64) -> UploadStep
    /// The request that asks how much the server has.
    func inquiry() -> UploadStep
    /// The request that sends more.
    func append(from offset: Int64, isLast: Bool, length: Int64) -> UploadStep
    /// The request that gives the upload up.
    func removal() -> UploadStep

    /// What an interim response says; nil if it says nothing of the upload.
    func announcement(in interim: HTTPResponse) -> UploadAnnouncement?
    /// What has come of a request that sent bytes.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidResponse`` for one that contradicts itself.
    func outcome(of response: HTTPResponse, isCreation: Bool) throws -> UploadOutcome
    /// What the server has, as it says when it is asked; nil if it says nothing of that.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidResponse``.
    func state(in response: HTTPResponse) throws -> UploadState?
    /// What the server sets as limits.
    func limits(in response: HTTPResponse) -> UploadLimits
}

/// A request of a protocol.
struct UploadStep: Sendable {
    var method: HTTPRequest.Method
    var fields: HTTPFields
    /// True if the bytes of the file from an offset on go with it.
    var carriesBytes = false
    /// What it sends otherwise.
    var content: [UInt8] = []
}

/// A digest of a request's bytes.
struct UploadDigest: Sendable {
    let algorithm: MessageDigest.Algorithm
    let field: HTTPField.Name
    let prefix: String
    let suffix: String
}

/// Where an upload is, and how much of it has arrived, while it is under way.
struct UploadAnnouncement: Sendable, Equatable {
    var location: String?
    var offset: Int64?
}

/// How much of an upload a server has.
struct UploadState: Sendable, Equatable {
    var offset: Int64
    var isComplete: Bool
}

/// What has come of a request that sent bytes.
enum UploadOutcome: Sendable, Equatable {
    /// It was the last, and this is the server's answer to all of it.
    case complete
    /// The server waits for more.
    /// - Parameters:
    ///   - location: Where the upload is, if that is new.
    ///   - offset: What it has, if it says so.
    case incomplete(location: String?, offset: Int64?)
    /// The server knows nothing of the protocol, and has answered as to any other request.
    case unknown
    /// The server refuses for now or for good.
    case refused
}

/// The limits of a server; nil is none.
struct UploadLimits: Sendable, Equatable {
    /// A server that takes less with a request would be asked without end.
    static let leastAppend: Int64 = 1024

    var maximumSize: Int64?
    var minimumSize: Int64?
    var maximumAppend: Int64?
    var minimumAppend: Int64?
    /// When it forgets the upload.
    var expires: HTTPDate?

    mutating func formUnion(_ others: UploadLimits) {
        maximumSize = others.maximumSize ?? maximumSize
        minimumSize = others.minimumSize ?? minimumSize
        maximumAppend = others.maximumAppend ?? maximumAppend
        minimumAppend = others.minimumAppend ?? minimumAppend
        expires = others.expires ?? expires
    }
}
