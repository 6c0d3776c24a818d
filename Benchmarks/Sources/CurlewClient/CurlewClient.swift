internal import BenchmarkKit
internal import Curlew
internal import CurlewService
internal import CurlewWebSockets
internal import HTTPTypes
internal import Synchronization

/// Curlew, through its public verbs.
@main
struct CurlewClient: BenchmarkClient {
    static let name = "curlew"

    private let session: HTTPSession
    private let urls: Rotation
    private let filePath: String?

    init(_ assignment: Assignment) throws {
        var configuration = SessionConfiguration()
        // The other clients send no User-Agent here.
        configuration.userAgent = nil
        configuration.connections.perHost = assignment.connections
        configuration.connections.idle = assignment.connections
        if let path = assignment.anchorsPath { configuration.security = .anchors(pem: try LocalFile(path).text()) }
        if assignment.isHTTP3 { configuration.versionPolicy = .http3Only }
        let loops = try (0..<(assignment.loops ?? 0)).map { try CurlewEventLoop(name: "bench-\($0)") }
        session = try Self.session(assignment.workload, configuration, loops)
        urls = Rotation(assignment.urls)
        filePath = assignment.filePath
    }

    private static func session(
        _ workload: Workload, _ configuration: SessionConfiguration, _ loops: [CurlewEventLoop]
    ) throws -> HTTPSession {
        switch workload {
        case .getStandard: return try HTTPSession(configuration: configuration, eventLoops: loops)
        case .getLimited:
            return try HTTPSession(configuration: configuration, eventLoops: loops) {
                StandardChain()
                CircuitBreaker()
                RequestRateLimiter(.perSecond(1_000_000, burst: 100_000))
                ConcurrencyLimiter(.additive(from: 10_000, within: 10_000...20_000))
            }
        case .getMeasured:
            return try HTTPSession(configuration: configuration, eventLoops: loops) {
                RequestMetrics(factory: Totals())
            }
        case .getObserved, .getTraced:
            return try HTTPSession(configuration: configuration, eventLoops: loops) {
                RequestTracing(tracer: ForgetfulTracer(records: workload == .getTraced))
                RequestMetrics(factory: Totals())
            }
        default: return try HTTPSession(configuration: configuration, eventLoops: loops, chain: .bare)
        }
    }

    func get() async throws -> Int {
        try await accepted(session.get(.raw(urls.next()))).body.collect(upTo: .mebibytes(64)).count
    }

    func json() async throws -> Catalogue { try await session.get(.raw(urls.next()), as: Catalogue.self) }

    func stream() async throws -> Int {
        var count = 0
        for try await chunk in try await accepted(session.get(.raw(urls.next()))).body { count += chunk.count }
        return count
    }

    func download() async throws -> Int {
        guard let filePath else { throw BenchmarkError.missingOption("--file") }
        return Int(try await session.download(.raw(urls.next()), to: .file(filePath)).size)
    }

    func upload() async throws -> Int {
        guard let filePath else { throw BenchmarkError.missingOption("--file") }
        let response = try await accepted(session.put(.raw(urls.next()), .body(.file(filePath))))
        _ = try await response.body.collect(upTo: .mebibytes(1))
        return try LocalFile(filePath).size()
    }

    func openWebSocket() async throws -> any EchoSocket {
        try await opened { _ in try await Task.sleep(for: .seconds(3600)) }
    }

    func openIdleWebSocket() async throws {
        _ = try await opened { socket in for try await _ in socket.messages {} }
    }

    /// Opens a WebSocket that lives as long as a closure, and returns it early.
    private func opened(_ body: @escaping @Sendable (CurlewWebSocket) async throws -> Void) async throws -> Echo {
        try await withCheckedThrowingContinuation { continuation in
            Task {
                var isOpen = false
                do {
                    try await session.webSocket(.raw(urls.next())) { socket in
                        isOpen = true
                        continuation.resume(returning: Echo(socket: socket))
                        try await body(socket)
                    }
                } catch {
                    if !isOpen { continuation.resume(throwing: error) }
                }
            }
        }
    }

    var loop: (any TaskExecutor)? { session.session?.eventLoop }

    func shutdown() async throws { await session.shutdown() }

    private func accepted(_ response: CurlewResponse) throws -> CurlewResponse {
        guard response.status == .ok else { throw BenchmarkError.status(response.status.code) }
        return response
    }
}

/// A WebSocket whose messages come back.
private struct Echo: EchoSocket {
    let socket: CurlewWebSocket

    func echo(_ message: [UInt8]) async throws -> Int {
        try await socket.send(.binary(message))
        var messages = socket.messages.makeAsyncIterator()
        return try await messages.next()?.bytes.count ?? 0
    }
}

/// A rotation of URLs.
private final class Rotation: Sendable {
    private let urls: [String]
    private let turns = Atomic(0)

    init(_ urls: [String]) { self.urls = urls }

    func next() -> String {
        // The common case avoids the atomic operation.
        if urls.count == 1 { return urls[0] }
        return urls[turns.wrappingAdd(1, ordering: .relaxed).oldValue % urls.count]
    }
}
