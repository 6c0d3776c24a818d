/// An HTTP client under measurement. Each function makes one request and reads its body to the end. A status other than
/// 200 is an error.
public protocol BenchmarkClient: Sendable {
    /// The name in the result.
    static var name: String { get }

    /// Makes a client that may open ``Assignment/connections`` connections to the host and keeps them all.
    init(_ assignment: Assignment) throws

    /// Fetches a body whole.
    /// - Returns: Its size.
    func get() async throws -> Int
    /// Fetches JSON and decodes it.
    func json() async throws -> Catalogue
    /// Fetches a body in chunks and drops them.
    /// - Returns: Its size.
    func stream() async throws -> Int
    /// Fetches a body into the file at ``Assignment/filePath``, which is not there before.
    /// - Returns: Its size.
    func download() async throws -> Int
    /// Sends the file at ``Assignment/filePath``.
    /// - Returns: Its size.
    func upload() async throws -> Int

    /// The executor for callers that run on the client's own loop; nil if the client has none.
    var loop: (any TaskExecutor)? { get }

    /// Closes what is open.
    func shutdown() async throws
}

extension BenchmarkClient {
    public var loop: (any TaskExecutor)? { nil }

    public func download() async throws -> Int { throw BenchmarkError.notSupported }
}

/// Why a request counts as an error although the client delivered a response.
public enum BenchmarkError: Error {
    case status(Int)
    case inconsistentDocument
    case missingOption(String)
    case notSupported
}
