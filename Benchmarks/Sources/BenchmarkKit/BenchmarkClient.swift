/// A measured HTTP client. Each function makes one request and reads its body to the end. A status other than 200 is an
/// error.
public protocol BenchmarkClient: Sendable {
    /// The name of the client in the result.
    static var name: String { get }

    /// Makes a client that may open ``Assignment/connections`` connections to the host and keeps all of them open.
    init(_ assignment: Assignment) throws

    /// Fetches a body into memory.
    /// - Returns: The size of the body.
    func get() async throws -> Int
    /// Fetches JSON and decodes it.
    func json() async throws -> Catalogue
    /// Fetches a body in chunks and discards them.
    /// - Returns: The size of the body.
    func stream() async throws -> Int
    /// Fetches a body into the file at ``Assignment/filePath``, which does not exist before.
    /// - Returns: The size of the body.
    func download() async throws -> Int
    /// Sends the file at ``Assignment/filePath``.
    /// - Returns: The size of the file.
    func upload() async throws -> Int

    /// Opens a WebSocket for the echo of messages. It stays open until ``shutdown()``.
    func openWebSocket() async throws -> any EchoSocket
    /// Opens a WebSocket with a reader. It stays open until ``shutdown()``.
    func openIdleWebSocket() async throws

    /// The executor for callers that run on the client's own loop; nil if the client has none.
    var loop: (any TaskExecutor)? { get }

    /// Closes the connections.
    func shutdown() async throws
}

extension BenchmarkClient {
    public var loop: (any TaskExecutor)? { nil }

    public func download() async throws -> Int { throw BenchmarkError.notSupported }

    public func openWebSocket() async throws -> any EchoSocket { throw BenchmarkError.notSupported }

    public func openIdleWebSocket() async throws { throw BenchmarkError.notSupported }
}

/// A WebSocket whose server sends each message back.
public protocol EchoSocket: Sendable {
    /// Sends a message and waits for its echo.
    /// - Returns: The size of the echo.
    func echo(_ message: [UInt8]) async throws -> Int
}

/// The reason why a request counts as an error although the client returned a response.
public enum BenchmarkError: Error {
    case status(Int)
    case inconsistentDocument
    case wrongEcho(Int)
    case missingOption(String)
    case notSupported
}
