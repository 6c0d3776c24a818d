internal import AsyncHTTPClient
internal import BenchmarkKit
internal import FoundationEssentials
internal import NIOCore
internal import NIOFoundationEssentialsCompat
internal import NIOHTTP1
internal import NIOSSL

/// async-http-client with its `async` interface, on its default event loops.
@main
struct AsyncHTTPClientClient: BenchmarkClient {
    static let name = "ahc"

    private let client: HTTPClient
    private let url: String
    private let filePath: String?

    init(_ assignment: Assignment) throws {
        var configuration = HTTPClient.Configuration()
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = assignment.connections
        if let path = assignment.anchorsPath {
            var security = TLSConfiguration.makeClientConfiguration()
            security.trustRoots = .file(path)
            configuration.tlsConfiguration = security
        }
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        url = assignment.url
        filePath = assignment.filePath
    }

    func get() async throws -> Int {
        try await send(HTTPClientRequest(url: url)).body.collect(upTo: 64 << 20).readableBytes
    }

    func json() async throws -> Catalogue {
        let body = try await send(HTTPClientRequest(url: url)).body.collect(upTo: 64 << 20)
        return try JSONDecoder().decode(Catalogue.self, from: body)
    }

    func stream() async throws -> Int {
        var count = 0
        for try await chunk in try await send(HTTPClientRequest(url: url)).body { count += chunk.readableBytes }
        return count
    }

    func download() async throws -> Int {
        guard let filePath else { throw BenchmarkError.missingOption("--file") }
        let request = try HTTPClient.Request(url: url)
        let sink = try FileDownloadDelegate(path: filePath)
        let progress = try await client.execute(request: request, delegate: sink).get()
        guard progress.head.status == .ok else { throw BenchmarkError.status(Int(progress.head.status.code)) }
        return progress.receivedBytes
    }

    func upload() async throws -> Int {
        guard let filePath else { throw BenchmarkError.missingOption("--file") }
        let size = try LocalFile(filePath).size()
        return try await withFileChunks(filePath) { chunks in
            var request = HTTPClientRequest(url: url)
            request.method = .PUT
            request.body = .stream(chunks, length: .known(Int64(size)))
            _ = try await send(request).body.collect(upTo: 1 << 20)
            return size
        }
    }

    func shutdown() async throws { try await client.shutdown() }

    private func send(_ request: HTTPClientRequest) async throws -> HTTPClientResponse {
        let response = try await client.execute(request, timeout: .minutes(10))
        guard response.status == .ok else { throw BenchmarkError.status(Int(response.status.code)) }
        return response
    }
}
