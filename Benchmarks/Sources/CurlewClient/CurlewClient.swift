internal import BenchmarkKit
internal import Curlew
internal import HTTPTypes

/// Curlew, through the verbs that its users call.
@main
struct CurlewClient: BenchmarkClient {
    static let name = "curlew"

    private let session: HTTPSession
    private let url: String
    private let filePath: String?

    init(_ assignment: Assignment) throws {
        var configuration = SessionConfiguration()
        // Its peers send none here.
        configuration.userAgent = nil
        configuration.connections.perHost = assignment.connections
        configuration.connections.idle = assignment.connections
        if let path = assignment.anchorsPath { configuration.security = .anchors(pem: try LocalFile(path).text()) }
        session = try HTTPSession(
            configuration: configuration, chain: assignment.workload == .getStandard ? StandardChain.Options() : .bare)
        url = assignment.url
        filePath = assignment.filePath
    }

    func get() async throws -> Int {
        try await accepted(session.get(.raw(url))).body.collect(upTo: .mebibytes(64)).count
    }

    func json() async throws -> Catalogue { try await session.get(.raw(url), as: Catalogue.self) }

    func stream() async throws -> Int {
        var count = 0
        for try await chunk in try await accepted(session.get(.raw(url))).body { count += chunk.count }
        return count
    }

    func download() async throws -> Int {
        guard let filePath else { throw BenchmarkError.missingOption("--file") }
        return Int(try await session.download(.raw(url), to: .file(filePath)).size)
    }

    func upload() async throws -> Int {
        guard let filePath else { throw BenchmarkError.missingOption("--file") }
        let response = try await accepted(session.put(.raw(url), body: .file(filePath)))
        _ = try await response.body.collect(upTo: .mebibytes(1))
        return try LocalFile(filePath).size()
    }

    var loop: (any TaskExecutor)? { session.session?.eventLoop }

    func shutdown() async throws { await session.shutdown() }

    private func accepted(_ response: CurlewResponse) throws -> CurlewResponse {
        guard response.status == .ok else { throw BenchmarkError.status(response.status.code) }
        return response
    }
}
