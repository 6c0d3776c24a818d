import Curlew

/// The code of the articles in DocC/Curlew.docc, so that it compiles. ``DocumentationTests`` compares the two.
enum ArticleSnippets {
    typealias User = ReadmeSnippets.User
    typealias BearerToken = ReadmeSnippets.BearerToken

    // MARK: GettingStarted.md

    private func makeConfigured() throws -> HTTPSession {
        var configuration = SessionConfiguration()
        configuration.timeouts.idle = .seconds(15)
        configuration.connections.perHost = 16
        let api = try HTTPSession(
            baseURL: "https://api.example.com/v1/",
            configuration: configuration,
            defaultFields: [.userAgent: "Inventory/1.4"])
        return api
    }

    private func readResponses(_ api: HTTPSession) async throws {
        let response = try await api.get("status")
        guard response.status == .ok else { return }
        let body = try await response.body.collect(upTo: .mebibytes(1))
        print(response.version, response.fields[.contentType] ?? "untyped", body.count)
    }

    private func streamDown(_ api: HTTPSession) async throws {
        let response = try await api.get("export")
        var count = 0
        for try await chunk in response.body { count += chunk.count }
        print(count, response.body.trailers)
    }

    private func streamUp(_ api: HTTPSession) async throws {
        _ = try await api.put("notes/1", .text("curlews whistle"))
        _ = try await api.put("recordings/1", .file("/srv/recordings/1.wav"))
        _ = try await api.post(
            "readings",
            .stream(type: "text/plain") {
                AsyncThrowingStream { continuation in
                    for second in 0..<60 { continuation.yield(Array("second \(second)\n".utf8)) }
                    continuation.finish()
                }
            })
    }

    private func follow(_ api: HTTPSession) async throws {
        var options = RequestOptions()
        options.totalTimeout = .seconds(30)
        options.tag = "nightly export"
        options.onTask = { task in
            Task { for await progress in task.progress { print(progress.received.fraction ?? 0) } }
        }
        let response = try await api.get("export", options: options)
        _ = try await response.body.collect(upTo: .mebibytes(64))
        let attempt = await response.task?.metrics.last
        print(attempt?.firstByte ?? .zero, attempt?.isReused ?? false)
    }

    private func handle(_ api: HTTPSession) async throws -> User? {
        do {
            return try await api.get("users/7", as: User.self)
        } catch let error as CurlewError {
            switch error.code {
            case .unacceptableStatus where error.response?.status == .notFound: return nil
            case .hostNotFound, .connectionRefused, .connectTimeout: print("the service is away: \(error.message)")
            default: print(error)
            }
            throw error
        }
    }

    private func listen(_ session: SessionActor) async {
        for await event in session.events where event.kind == .completed {
            print(event.task?.tag ?? "", event.metrics?.last?.total ?? .zero, event.error?.code ?? "no error")
        }
    }

    struct Stub: Transport {
        func send(_ request: CurlewRequest) async throws -> CurlewResponse {
            CurlewResponse(
                .ok, fields: [.contentType: "application/json"], body: .bytes(Array("[]".utf8)), uri: request.uri)
        }
    }

    private func stubbed() throws -> HTTPSession {
        try HTTPSession(baseURL: "https://api.example.com/", transport: Stub()) { BearerToken(token: "test") }
    }

    // MARK: Architecture.md

    /// Asks a second server when the first cannot be reached.
    public struct Fallback: CurlewMiddleware {
        /// The origin to ask instead.
        public let second: CurlewURI

        /// - Parameter second: The origin to ask instead; its path and query are not used.
        public init(to second: CurlewURI) { self.second = second }

        public func intercept(
            _ request: Request, next: Next<Request, Response>
        ) async throws -> Response {
            do {
                return try await next(request)
            } catch let error as CurlewError where error.stage == .connecting && request.body.isReplayable {
                var again = request.removingSecrets()
                let query = request.uri.query.map { "?\($0)" } ?? ""
                again.uri = try CurlewURI("\(second.scheme)://\(second.authority)\(request.uri.path)\(query)")
                return try await next(again)
            }
        }
    }

    private func withFallback() throws -> HTTPSession {
        let backup = try CurlewURI("https://backup.example.com/")
        return try HTTPSession(baseURL: "https://api.example.com/") {
            Fallback(to: backup)
            BearerToken(token: "secret")
        }
    }

    private func withClosure() throws -> HTTPSession {
        let api = try HTTPSession(baseURL: "https://api.example.com/") {
            Link { request, next in
                var request = request
                request.fields[.acceptLanguage] = "en"
                return try await next(request)
            }
            StandardChain()
        }
        return api
    }

    // MARK: Bounds.md

    private func patient(_ api: HTTPSession) async throws -> CurlewResponse {
        var options = RequestOptions()
        options.connectTimeout = .milliseconds(250)
        options.idleTimeout = .seconds(300)
        return try await api.get("reports/slow", options: options)
    }

    private func onLoop(_ session: SessionActor, _ api: HTTPSession) async throws {
        let response = try await withTaskExecutorPreference(session.eventLoop) { try await api.get("status") }
        print(response.status)
    }
}
