import CurlewTesting
import CurlewTestingTraits
import FoundationEssentials
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewTransfers

/// A server of uploads in parts, whose URLs expire.
private final class PartServer: Sendable {
    struct State {
        var parts: [Int: [UInt8]] = [:]
        var whole: [UInt8]?
        var log: [String] = []
        var heads: [HTTPFields] = []
        /// The first answers to each kind of request.
        var answers: [String: [MockResponse?]] = [:]
        var signature = 0
        var upload = 0
    }

    let state = Guarded(State())
    private let server = Guarded<MockServer?>(nil)

    static func start(_ answers: [String: [MockResponse?]] = [:]) async throws -> PartServer {
        let parts = PartServer()
        parts.state.withLock { $0.answers = answers }
        let server = try await MockServer.start { try await parts.answer($0) }
        parts.server.withLock { $0 = server }
        return parts
    }

    func shutdown() async { await server.withLock { $0 }?.shutdown() }

    /// URLs whose signatures are valid once.
    var multipart: MultipartUpload {
        var multipart = MultipartUpload { [self] step in
            let signature = state.withLock { state in
                state.signature += 1
                return state.signature
            }
            let query =
                switch step {
                case .create: "uploads"
                case .part(let number, let upload): "partNumber=\(number)&uploadId=\(upload)"
                case .complete(let upload), .abort(let upload): "uploadId=\(upload)"
                }
            return server.withLock { $0 }?.url("/film?\(query)&signature=\(signature)") ?? ""
        }
        multipart.partSize = .mebibytes(5)
        multipart.parallelParts = 2
        return multipart
    }

    private func answer(_ request: InboundRequest) async throws -> MockResponse {
        let items = (request.target.split(separator: "?").last ?? "").split(separator: "&").map {
            $0.split(separator: "=", omittingEmptySubsequences: false).map(String.init)
        }
        func item(_ name: String) -> String? { items.first { $0.first == name }.map { $0.count > 1 ? $0[1] : "" } }
        let number = item("partNumber").flatMap { Int($0) }
        let kind =
            number != nil
            ? "part" : item("uploads") != nil ? "create" : request.method == .delete ? "abort" : "complete"
        let body = try await request.body.collect()
        let scripted: MockResponse? = state.withLock { state in
            state.log.append(kind)
            state.heads.append(request.fields)
            guard let first = state.answers[kind]?.first else { return nil }
            state.answers[kind]?.removeFirst()
            return first
        }
        if let scripted { return scripted }
        return state.withLock { state in
            if kind != "create", item("uploadId") != "up&\(state.upload)".replacing("&", with: "%26") {
                return MockResponse(status: .notFound, body: "<Error><Code>NoSuchUpload</Code></Error>")
            }
            switch kind {
            case "create":
                state.upload += 1
                state.parts = [:]
                return MockResponse(
                    body: .bytes(
                        Array(
                            "<InitiateMultipartUploadResult><UploadId>up%26\(state.upload)</UploadId></InitiateMultipartUploadResult>"
                                .utf8)))
            case "part":
                state.parts[number ?? 0] = body
                return MockResponse(fields: [.eTag: "\"tag<\(number ?? 0)\""])
            case "complete":
                let list = (1...max(1, state.parts.count)).map {
                    "<Part><PartNumber>\($0)</PartNumber><ETag>\"tag&lt;\($0)\"</ETag></Part>"
                }
                guard String(decoding: body, as: UTF8.self).contains(list.joined()) else {
                    return MockResponse(status: .badRequest, body: "<Error><Code>InvalidPart</Code></Error>")
                }
                state.whole = state.parts.sorted { $0.key < $1.key }.flatMap(\.value)
                state.upload += 1000
                return MockResponse(
                    body:
                        "<CompleteMultipartUploadResult><ETag>&quot;whole&quot;</ETag></CompleteMultipartUploadResult>")
            default: return MockResponse(status: .noContent)
            }
        }
    }
}

@Suite("Uploads in parts by presigned URLs", .noLeaks, .timeLimit(.minutes(1)))
struct MultipartUploadTests {
    private let source: UploadSource
    private var folder: ScratchFolder { source.folder }
    private var bytes: [UInt8] { source.bytes }
    private var path: String { source.path }
    private let quick = ResumableUpload.Options.quick

    init() throws { source = try UploadSource(count: 12_000_000) }

    private static let failed = MockResponse(status: .internalServerError)

    @Test(
        "a file is sent in parts, with new URLs for expired ones, and failed parts are repeated",
        arguments: [
            [:], ["part": [MockResponse(status: .forbidden), nil, failed, MockResponse(status: .forbidden)]],
            ["create": [MockResponse(status: .forbidden), failed]],
            ["complete": [failed, MockResponse(body: "<Error><Code>InternalError</Code></Error>")]],
            ["complete": [MockResponse(body: "<Error>\u{301}</Error><CompleteMultipartUploadResult/>")]],
        ] as [[String: [MockResponse?]]])
    func whole(answers: [String: [MockResponse?]]) async throws {
        let server = try await PartServer.start(answers)
        let http = try HTTPSession(chain: .bare)
        let all = Guarded<[ResumableUpload.Progress]>([])
        let receipt = try await http.upload(file: path, multipart: server.multipart, upload: quick) { progress in
            all.withLock { $0.append(progress) }
        }
        #expect(receipt.entityTag == "\"whole\"")
        #expect(server.state.withLock { $0.whole } == bytes)
        let steps = all.withLock { $0 }
        #expect(steps.last?.confirmed == 12_000_000)
        #expect(zip(steps, steps.dropFirst()).allSatisfy { $0.sent <= $1.sent && $0.confirmed <= $1.confirmed })
        await http.shutdown()
        await server.shutdown()
    }

    @Test("an interrupted upload sends the remaining parts, in another process too")
    func resumed() async throws {
        let server = try await PartServer.start(["part": [nil, nil, Self.failed, Self.failed]])
        let http = try HTTPSession(chain: .bare)
        var options = quick
        options.retries.attempts = 2
        options.tokenFile = "\(folder.path)/token"
        var multipart = server.multipart
        multipart.parallelParts = 1
        let (first, one) = (options, multipart)
        let error = await #expect(throws: CurlewError.self) {
            _ = try await http.upload(file: path, multipart: one, upload: first)
        }
        let token = try await UploadToken(contentsOf: "\(folder.path)/token")
        #expect(token == error?.uploadToken && token.offset == 10 << 20)
        #expect(!"\(token.target)".contains("signature"))
        options.token = token
        _ = try await http.upload(file: path, multipart: one, upload: options)
        let (whole, log) = server.state.withLock { ($0.whole, $0.log) }
        #expect(whole == bytes && log.filter { $0 == "part" }.count == 5 && log.filter { $0 == "create" }.count == 1)
        await http.shutdown()
        await server.shutdown()
    }

    @Test(
        "an upload unknown to the server restarts once, and an upload with a lost end is not reported as complete")
    func forgotten() async throws {
        let missing = MockResponse(status: .notFound)
        let server = try await PartServer.start(["part": [nil, missing]])
        let http = try HTTPSession(chain: .bare)
        _ = try await http.upload(file: path, multipart: server.multipart, upload: quick)
        #expect(server.state.withLock { $0.whole } == bytes)
        await server.shutdown()
        let lossy = try await PartServer.start(["complete": [Self.failed, missing]])
        let options = quick
        let error = await #expect(throws: CurlewError.self) {
            _ = try await http.upload(file: path, multipart: lossy.multipart, upload: options)
        }
        #expect(error?.code == .outcomeUnknown)
        await http.shutdown()
        await lossy.shutdown()
    }

    @Test("a URL refused for another reason than its age ends the upload, whose token is kept from its creation on")
    func forbidden() async throws {
        let forbidden = MockResponse(status: .forbidden)
        let server = try await PartServer.start(["part": [forbidden, forbidden, forbidden, forbidden, forbidden]])
        let http = try HTTPSession(chain: .bare)
        var options = quick
        options.tokenFile = "\(folder.path)/token"
        var multipart = server.multipart
        multipart.parallelParts = 1
        let (one, kept) = (multipart, options)
        let error = await #expect(throws: CurlewError.self) {
            _ = try await http.upload(file: path, multipart: one, upload: kept)
        }
        #expect(error?.response?.status == .forbidden)
        #expect(server.state.withLock { $0.log } == ["create"] + Array(repeating: "part", count: 4))
        #expect(try await UploadToken(contentsOf: "\(folder.path)/token").offset == 0)
        struct Away: Error {}
        let unsigned = MultipartUpload { _ in throw Away() }
        let refusal = await #expect(throws: CurlewError.self) {
            _ = try await http.upload(file: path, multipart: unsigned)
        }
        #expect(refusal?.code == .invalidURL && refusal?.underlying is Away)
        await http.shutdown()
        await server.shutdown()
    }

    @Test("a changed file is not completed, and an upload can be abandoned")
    func changed() async throws {
        let server = try await PartServer.start(["part": [nil, nil, Self.failed]])
        let http = try HTTPSession(chain: .bare)
        var options = quick
        options.retries.attempts = 1
        let once = options
        let error = await #expect(throws: CurlewError.self) {
            _ = try await http.upload(file: path, multipart: server.multipart, upload: once)
        }
        let token = try #require(error?.uploadToken)
        try Data(bytes.reversed()).write(to: URL(filePath: path))
        options.token = token
        let requests = server.state.withLock { $0.log.count }
        let changed = options
        let refusal = await #expect(throws: CurlewError.self) {
            _ = try await http.upload(file: path, multipart: server.multipart, upload: changed)
        }
        #expect(refusal?.code == .bodyLengthMismatch && server.state.withLock { $0.log.count } == requests)
        try await http.discard(token, multipart: server.multipart)
        #expect(server.state.withLock { $0.log.last } == "abort")
        var small = server.multipart
        small.partSize = .mebibytes(4)
        let bad = small
        let tooSmall = await #expect(throws: CurlewError.self) {
            _ = try await http.upload(file: path, multipart: bad)
        }
        #expect(tooSmall?.code == .invalidRequest)
        await http.shutdown()
        await server.shutdown()
    }

    @Test(
        "requests of an upload in parts follow no redirect to another origin, and have the session's non-secret fields",
        arguments: ["create", "part", "complete"])
    func redirected(kind: String) async throws {
        let other = try await MockServer.start { _ in MockResponse() }
        let redirect = MockResponse(status: .temporaryRedirect, fields: [.location: other.url("/film")])
        let server = try await PartServer.start([kind: [redirect]])
        let http = try HTTPSession(
            baseURL: "https://a.test/", defaultFields: [.authorization: "Bearer secret", .accept: "a/b"])
        let (multipart, options) = (server.multipart, quick)
        let error = await curlewError { _ = try await http.upload(file: path, multipart: multipart, upload: options) }
        #expect(error?.code == .redirectRefused)
        #expect(other.requestCount == 0)
        let heads = server.state.withLock { $0.heads }
        #expect(!heads.isEmpty && heads.allSatisfy { $0[.authorization] == nil && $0[.accept] == "a/b" })
        await http.shutdown()
        await server.shutdown()
        await other.shutdown()
    }

    @Test("a part that is always refused is sent only up to the limit of attempts")
    func attempts() async throws {
        let server = try await PartServer.start(["part": Array(repeating: Self.failed, count: 100)])
        let http = try HTTPSession(chain: .bare)
        var multipart = server.multipart
        multipart.parallelParts = 1
        let (one, options) = (multipart, quick)
        let error = await curlewError { _ = try await http.upload(file: path, multipart: one, upload: options) }
        #expect(error?.response?.status == .internalServerError)
        #expect(server.state.withLock { $0.log.count(where: { $0 == "part" }) } == 10)
        await http.shutdown()
        await server.shutdown()
    }
}
