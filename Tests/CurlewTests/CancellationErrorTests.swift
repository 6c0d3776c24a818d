import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@Suite("The error of a cancelled call", .noLeaks, .noLongTurns, .timeLimit(.minutes(2)))
struct CancellationErrorTests {
    /// The arguments of an entry point.
    struct Stage: Sendable {
        /// A session over sockets. `/stalled` gets no answer, `/body` an endless body, `/busy` a 503, and `/` an
        /// answer.
        let session: HTTPSession
        let folder: ScratchFolder
        /// Reports that the call runs and may be cancelled.
        let begun: @Sendable () -> Void

        /// Waits until the task is cancelled, like a stalled closure of a user.
        func stall() async throws {
            begun()
            try await untilCancelled()
        }

        /// A session over a stub, with links around it.
        func stubbed<Links: CurlewMiddleware>(
            _ answer: StubAnswer = .response(.ok), clock: TestClock = TestClock(), @ChainBuilder _ links: () -> Links
        ) throws -> HTTPSession
        where
            Links.Input == CurlewRequest, Links.Output == CurlewResponse, Links.NextInput == CurlewRequest,
            Links.NextOutput == CurlewResponse
        {
            try HTTPSession(transport: StubTransport(clock: clock) { _ in answer }, chain: .bare, links)
        }

        /// Reports that the call runs as soon as a task sleeps on the clock.
        func begun(whenAsleep clock: TestClock) {
            Task { [begun] in
                try? await clock.waitForSleepers()
                begun()
            }
        }

        /// The response with the endless body.
        func endless() async throws -> CurlewResponse {
            let response = try await session.get("body")
            begun()
            return response
        }
    }

    struct EntryPoint: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let call: @Sendable (Stage) async throws -> Void

        init(_ name: String, _ call: @escaping @Sendable (Stage) async throws -> Void) {
            testDescription = name
            self.call = call
        }
    }

    /// Chunks that wait until the task is cancelled.
    struct StalledChunks: AsyncSequence, AsyncIteratorProtocol, Sendable {
        let stage: Stage

        func makeAsyncIterator() -> StalledChunks { self }

        func next() async throws -> [UInt8]? {
            try await stage.stall()
            return nil
        }
    }

    private static let url = "http://a.test/"

    private static let calls = [
        EntryPoint("a verb") { stage in
            stage.begun()
            _ = try await stage.session.get("stalled")
        },
        EntryPoint("a verb in a task that was cancelled before") { stage in
            stage.begun()
            while !Task.isCancelled { await Task.yield() }
            _ = try await stage.session.get("stalled")
        },
        EntryPoint("a verb with a value") { stage in
            stage.begun()
            _ = try await stage.session.get("body", as: JSONValue.self)
        },
        EntryPoint("a serializer whose closure looks for cancellation") { stage in
            let session = try stage.stubbed(.response(.ok, fields: [.contentType: "application/json"], body: "{}")) {
                StandardChain()
            }
            let serializer = JSONResponseSerializer<JSONValue>().map { value in
                stage.begun()
                withUnsafeCurrentTask { $0?.cancel() }
                try Task.checkCancellation()
                return value
            }
            _ = try await session.get(.raw(url), as: serializer)
        },
        EntryPoint("SessionActor.send") { stage in
            let request = CurlewRequest(.get, try stage.session.resolve("stalled"))
            stage.begun()
            _ = try await stage.session.session?.send(request)
        },
        EntryPoint("TaskActor.response") { stage in
            let request = CurlewRequest(.get, try stage.session.resolve("stalled"))
            let task = try #require(stage.session.session).dataTask(request)
            task.resume()
            stage.begun()
            _ = try await task.response()
        },
        EntryPoint("onResponse") { stage in
            var options = RequestOptions()
            options.onResponse = { _, _ in
                try await stage.stall()
                return .allow
            }
            _ = try await stage.session.get("/", options: options)
        },
        EntryPoint("onResponse of a task") { stage in
            var request = CurlewRequest(.get, try stage.session.resolve("/"))
            request.options.onResponse = { _, _ in
                try await stage.stall()
                return .allow
            }
            let task = try #require(stage.session.session).dataTask(request)
            task.resume()
            _ = try await task.response()
        },
    ]

    private static let links = [
        EntryPoint("a link of a user's") { stage in
            let session = try stage.stubbed {
                Link { request, next in
                    try await stage.stall()
                    return try await next(request)
                }
            }
            _ = try await session.get(.raw(url))
        },
        EntryPoint("Retry") { stage in
            let clock = TestClock()
            stage.begun(whenAsleep: clock)
            _ = try await stage.stubbed(.response(.serviceUnavailable)) { Retry(clock: clock) }.get(.raw(url))
        },
        EntryPoint("Hedging") { stage in
            let clock = TestClock()
            stage.begun(whenAsleep: clock)
            _ = try await stage.stubbed(.stall) { Hedging(after: .seconds(1), clock: clock) }.get(.raw(url))
        },
        EntryPoint("CredentialRenewal") { stage in
            let link = try CredentialRenewal<String>(
                for: url, apply: { _, _ in },
                renew: { _ in
                    try await stage.stall()
                    return ""
                })
            _ = try await stage.stubbed { link }.get(.raw(url))
        },
        EntryPoint("ChallengeAuthentication") { stage in
            let challenged = StubAnswer.response(.unauthorized, fields: [.wwwAuthenticate: "Basic realm=r"])
            let session = try stage.stubbed(challenged) {
                ChallengeAuthentication { _ in
                    try await stage.stall()
                    return .refuse
                }
            }
            _ = try await session.get(.raw(url))
        },
        EntryPoint("ConnectivityWait") { stage in
            let (updates, report) = AsyncStream.makeStream(of: ReachabilityStatus.self)
            report.yield(.notReachable)
            var link = ConnectivityWait(updates: updates, limit: .seconds(60))
            link.onWait = { _, _ in stage.begun() }
            _ = try await stage.stubbed(.failure(.hostNotFound)) { [link] in link }.get(.raw(url))
            report.finish()
        },
        EntryPoint("Redirects") { stage in
            let session = try stage.stubbed(.response(.found, fields: [.location: "/there"])) {
                Redirects(
                    .decide { _ in
                        try await stage.stall()
                        return nil
                    })
            }
            _ = try await session.get(.raw(url))
        },
    ]

    private static let bodies = [
        EntryPoint("chunks") { stage in for try await _ in try await stage.endless().body {} },
        EntryPoint("bytes") { stage in for try await _ in try await stage.endless().body.bytes {} },
        EntryPoint("lines") { stage in for try await _ in try await stage.endless().body.lines() {} },
        EntryPoint("collect") { stage in _ = try await stage.endless().body.collect(upTo: 1000) },
        EntryPoint("ndjson") { stage in
            for try await _ in try await stage.endless().body.ndjson(as: JSONValue.self) {}
        },
        EntryPoint("serverSentEvents") { stage in for try await _ in try await stage.endless().body.serverSentEvents {}
        },
        EntryPoint("a body of a link's making") { stage in
            let session = try stage.stubbed {
                Link { request, next in
                    var response = try await next(request)
                    response.body = .stream(StalledChunks(stage: stage))
                    return response
                }
            }
            for try await _ in try await session.get(.raw(url)).body {}
        },
        EntryPoint("a throttled request body") { stage in
            let clock = TestClock()
            stage.begun(whenAsleep: clock)
            let throttle = MultipartFormData.Throttle(packetSize: 1, delay: .seconds(1), clock: clock)
            for try await _ in try await CurlewRequest.Body.bytes([1, 2]).throttled(throttle).stream() {}
        },
        EntryPoint("spooled") { stage in
            _ = try await CurlewRequest.Body.stream { StalledChunks(stage: stage) }.spooled(to: stage.folder.file("x"))
        },
    ]

    private static let files = [
        EntryPoint("save") { stage in _ = try await stage.endless().save(to: .file(stage.folder.file("x"))) },
        EntryPoint("save to a place that is still chosen") { stage in
            let destination = Destination.chosen { _, _ in
                try await stage.stall()
                return ""
            }
            _ = try await stage.session.get("/").save(to: destination)
        },
        EntryPoint("download") { stage in
            stage.begun()
            _ = try await stage.session.download("body", to: .file(stage.folder.file("x")))
        },
        EntryPoint("a download that waits to resume") { stage in
            let clock = TestClock()
            stage.begun(whenAsleep: clock)
            var download = DownloadTask.Options()
            download.retries.attempts = 4
            download.clock = clock
            _ = try await stage.session.download("busy", to: .file(stage.folder.file("x")), download: download)
        },
        EntryPoint("upload") { stage in
            stage.begun()
            _ = try await stage.session.post("stalled", .body(.stream { StalledChunks(stage: stage) }))
        },
    ]

    @Test("a call whose task is cancelled throws a CurlewError", arguments: calls + links + bodies + files)
    func cancelled(_ entry: EntryPoint) async throws {
        let server = try await MockServer.start { request in
            switch request.path {
            case "/stalled": try await untilCancelled()
            case "/busy": return MockResponse(status: .serviceUnavailable)
            case "/body":
                return MockResponse(
                    fields: [.contentType: "application/json"],
                    body: .stream { writer in
                        try await writer.write("{")
                        try await untilCancelled()
                    })
            default: break
            }
            return MockResponse()
        }
        let session = try makeSession(baseURL: server.url())
        let (begins, begin) = AsyncStream.makeStream(of: Void.self)
        let stage = Stage(session: session, folder: try ScratchFolder(), begun: { begin.yield() })
        let call = Task {
            defer { begin.finish() }
            try await entry.call(stage)
        }
        for await _ in begins { break }
        call.cancel()
        let error = await curlewError { try await call.value }
        #expect(error?.code == .cancelled && error?.isCancellation == true)
        try await session.expectUsable()
    }
}
