internal import HTTPTypes

/// The messages of a protocol of resumable uploads. A dialect has no state: the state of an upload is in its token.
protocol UploadDialect: Sendable {
    var name: UploadDialectName { get }
    /// The digests that requests may have, the best first; empty if the server accepts none.
    var digests: [UploadDigest] { get }

    /// The request that creates an upload.
    /// - Parameter length: The length of the file, or of the part of the file that is an upload of its own.
    func creation(method: HTTPRequest.Method, length: Int64) -> UploadStep
    /// The request that asks for the server's offset.
    func inquiry() -> UploadStep
    /// The request that sends further bytes.
    func append(from offset: Int64, isLast: Bool, length: Int64) -> UploadStep
    /// The request that deletes the upload.
    func removal() -> UploadStep

    /// The content of an interim response; nil if it does not concern the upload.
    func announcement(in interim: HTTPResponse) -> UploadAnnouncement?
    /// The outcome of a request that sent bytes.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidResponse`` for a response that contradicts itself.
    func outcome(of response: HTTPResponse, isCreation: Bool) throws -> UploadOutcome
    /// The state in the response to an offset request; nil if the response does not contain it.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidResponse``.
    func state(in response: HTTPResponse) throws -> UploadState?
    /// The limits that the server sets.
    func limits(in response: HTTPResponse) -> UploadLimits
}

/// A request of a protocol.
struct UploadStep: Sendable {
    var method: HTTPRequest.Method
    var fields: HTTPFields
    /// True if the request contains bytes of the file, from an offset on.
    var carriesBytes = false
    /// The content of a request without bytes of the file.
    var content: [UInt8] = []
}

/// A digest of a request's bytes.
struct UploadDigest: Sendable {
    let algorithm: MessageDigest.Algorithm
    let field: HTTPField.Name
    let prefix: String
    let suffix: String
}

/// The location of an upload and its confirmed offset, announced during a request.
struct UploadAnnouncement: Sendable, Equatable {
    var location: String?
    var offset: Int64?
}

/// The state of an upload on the server.
struct UploadState: Sendable, Equatable {
    var offset: Int64
    var isComplete: Bool
}

/// The outcome of a request that sent bytes.
enum UploadOutcome: Sendable, Equatable {
    /// The server has all bytes, and this is its final response.
    case complete
    /// The server expects further bytes.
    /// - Parameters:
    ///   - location: The location of the upload, if it is new.
    ///   - offset: The server's offset, if the response contains it.
    case incomplete(location: String?, offset: Int64?)
    /// The server does not support the protocol, and has answered as to any other request.
    case unknown
    /// The server refuses the request, temporarily or permanently.
    case refused
}

/// The limits of a server; nil means unlimited.
struct UploadLimits: Sendable, Equatable {
    /// The smallest accepted limit of an append. A lower limit would need too many requests.
    static let leastAppend: Int64 = 1024

    var maximumSize: Int64?
    var minimumSize: Int64?
    var maximumAppend: Int64?
    var minimumAppend: Int64?
    /// The time at which the server deletes the upload.
    var expires: HTTPDate?

    mutating func formUnion(_ others: UploadLimits) {
        maximumSize = others.maximumSize ?? maximumSize
        minimumSize = others.minimumSize ?? minimumSize
        maximumAppend = others.maximumAppend ?? maximumAppend
        minimumAppend = others.minimumAppend ?? minimumAppend
        expires = others.expires ?? expires
    }
}
