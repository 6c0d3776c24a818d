internal import BenchmarkKit
internal import Foundation
internal import FoundationNetworking

/// URLSession of swift-corelibs-foundation. Its trusted certificates cannot be configured, so it takes no part in the
/// workloads over TLS.
@main
struct URLSessionClient: BenchmarkClient {
    static let name = "urlsession"

    private let session: URLSession
    private let url: URL
    private let filePath: String?

    init(_ assignment: Assignment) throws {
        guard let url = URL(string: assignment.url) else { throw UsageError() }
        self.url = url
        filePath = assignment.filePath
        session = URLSession(configuration: Self.configuration(assignment))
    }

    private static func configuration(_ assignment: Assignment) -> URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = assignment.connections
        configuration.urlCache = nil
        configuration.httpCookieStorage = nil
        configuration.timeoutIntervalForRequest = 600
        return configuration
    }

    func get() async throws -> Int { try await accepted(session.data(from: url)).count }

    func json() async throws -> Catalogue {
        try JSONDecoder().decode(Catalogue.self, from: try await accepted(session.data(from: url)))
    }

    func stream() async throws -> Int { try await ChunkCounter.count(url, session: session) }

    func upload() async throws -> Int {
        guard let filePath else { throw BenchmarkError.missingOption("--file") }
        var request = URLRequest(url: url)
        request.httpMethod = "PUT"
        _ = try accepted(try await session.upload(for: request, fromFile: URL(fileURLWithPath: filePath)))
        return try LocalFile(filePath).size()
    }

    func shutdown() async throws { session.invalidateAndCancel() }

    private func accepted(_ answer: (Data, URLResponse)) throws -> Data {
        let status = (answer.1 as? HTTPURLResponse)?.statusCode ?? 0
        guard status == 200 else { throw BenchmarkError.status(status) }
        return answer.0
    }
}
