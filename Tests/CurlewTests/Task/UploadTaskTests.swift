import Curlew
import CurlewTesting
import CurlewTestingTraits
import Dispatch
import HTTPTypes
import TestHelpers
import Testing

@Suite("Upload tasks", .noLeaks, .noLongTurns, .timeLimit(.minutes(2)))
struct UploadTaskTests {
    private func counter() async throws -> MockServer {
        try await MockServer.start { request in
            var count = 0
            for try await chunk in request.body { count += chunk.count }
            return MockResponse(body: .string("\(count)"))
        }
    }

    @Test("upload tasks are created suspended, have their own kind, and are listed by it")
    func kinds() async throws {
        let server = try await RawServer.start { connection in try await connection.closed }
        let session = try makeSession()
        let actor = try #require(session.session)
        let upload = try actor.uploadTask(CurlewRequest(.put, server.url()), from: .string("curlew"))
        let data = try actor.dataTask(CurlewRequest(.get, server.url()))
        #expect(upload.kind == .upload && data.kind == .data)
        #expect(await upload.state == .suspended)
        upload.resume()
        data.resume()
        #expect(await actor.tasks(.upload).map(\.id) == [upload.id])
        #expect(await actor.tasks(.data).map(\.id) == [data.id])
        #expect(await actor.tasks().map(\.id) == [upload.id, data.id])
        await actor.invalidate(cancelling: true)
    }

    @Test("uploads of bytes, files, streams and forms have a length if known, and progress to the end")
    func kindsOfBody() async throws {
        let server = try await counter()
        let session = try makeSession(baseURL: server.url())
        let file = try TemporaryFile(bytes: 300_000)
        var form = MultipartFormData()
        try form.append(file: file.path, name: "f")
        let bodies: [(CurlewRequest.Body, Int64, Bool)] = [
            (.bytes(Array(repeating: 1, count: 100_000)), 100_000, true), (.file(file.path), 300_000, true),
            (
                .stream(length: 4) {
                    AsyncStream {
                        $0.yield([1, 2, 3, 4])
                        $0.finish()
                    }
                }, 4, true
            ),
            (
                .stream {
                    AsyncStream {
                        $0.yield([1, 2, 3, 4])
                        $0.finish()
                    }
                }, 4, false
            ),
            (form.body, try #require(form.length), true),
        ]
        for (body, length, isKnown) in bodies {
            let task = try #require(session.session).uploadTask(CurlewRequest(.post, server.url()), from: body)
            task.resume()
            let answer = try await task.response().body.collect(upTo: 100)
            #expect(answer == Array("\(length)".utf8))
            var last: TaskProgress?
            for await progress in task.progress { last = progress }
            #expect(last?.sent.wire == length && last?.sent.total == (isKnown ? length : nil))
            #expect(await task.metrics.sentBodyBytes == length)
            let recorded = try #require(await server.takeRequest())
            #expect(recorded.fields[.contentLength] == (isKnown ? "\(length)" : nil))
        }
    }

    @Test("the total is known before the first byte")
    func total() async throws {
        let server = try await RawServer.start { connection in try await connection.closed }
        let session = try makeSession()
        var request = try CurlewRequest(.put, server.url())
        request.options.expectContinue = .seconds(100)
        let task = try #require(session.session).uploadTask(request, from: .string("curlew"))
        task.resume()
        try await server.waitForAccepted(1)
        #expect(await task.currentProgress.sent.total == 6)
        #expect(await task.currentProgress.sent.wire == 0)
        task.cancel()
        _ = await curlewError { _ = try await task.response() }
    }

    @Test("the upload verb sends a file with its media type, unless the call sets another")
    func verb() async throws {
        let server = try await counter()
        let session = try makeSession(baseURL: server.url())
        let folder = try ScratchFolder()
        let path = try folder.write("song.wav", Array(repeating: 1, count: 1000))
        var kinds: [TaskActor.Kind] = []
        for fields in [HTTPFields(), [.contentType: "audio/x-mine"]] {
            let text = try await session.upload("x", .file(path), method: .put, as: .text, fields: fields)
            #expect(text == "1000")
            let recorded = try #require(await server.takeRequest())
            #expect(recorded.method == .put)
            #expect(recorded.fields[.contentType] == fields[.contentType] ?? "audio/x-wav")
        }
        var form = MultipartFormData()
        try form.append(file: path, name: "f")
        let response = try await session.upload("x", .multipart(form))
        kinds.append(try #require(response.task?.kind))
        _ = try await response.body.collect(upTo: 10)
        let recorded = try #require(await server.takeRequest())
        #expect(recorded.method == .post)
        #expect(recorded.fields[.contentType]?.hasPrefix("multipart/form-data; boundary=") == true)
        #expect(recorded.fields[.contentLength] == "\(try #require(form.length))")
        #expect(kinds == [.upload])
    }

    /// A server that redirects, then fails, then accepts.
    private func reluctant() async throws -> (MockServer, HTTPSession) {
        let server = try await MockServer.start { request in
            let count = try await request.body.collect().count
            switch request.path {
            case "/": return MockResponse(status: .temporaryRedirect, fields: [.location: "/secret"])
            case "/secret" where request.fields[.authorization] == nil:
                return MockResponse(status: .unauthorized, fields: [.wwwAuthenticate: "Basic realm=\"x\""])
            case "/secret": return MockResponse(status: .permanentRedirect, fields: [.location: "/end"])
            default: return MockResponse(body: .string("\(count)"))
            }
        }
        let credential = try Credential.Scoped(server.url(), .password(user: "u", password: "p"))
        let session = try HTTPSession(transport: try #require(try makeSession().session), chain: .bare) {
            Redirects()
            ChallengeAuthentication(credential)
        }
        return (server, session)
    }

    @Test("a body is sent again after redirects and a challenge, under one progress")
    func replays() async throws {
        let (server, session) = try await reluctant()
        let file = try TemporaryFile(bytes: 100_000)
        var form = MultipartFormData()
        try form.append(file: file.path, name: "f")
        var expected = 4
        for body in [CurlewRequest.Body.bytes(Array(repeating: 1, count: 1000)), .file(file.path), form.body] {
            let progress = CallProgress()
            let text = try await session.upload(
                .raw(server.url()), .body(body), as: .text, options: following(progress))
            progress.finish()
            var last: CallProgress.Element?
            for await step in progress {
                #expect(step.attempt >= last?.attempt ?? 1)
                if step.attempt == last?.attempt {
                    #expect(step.progress.sent.wire >= last?.progress.sent.wire ?? 0)
                }
                last = step
            }
            // The credential is known after the first call, and then sent without a challenge.
            #expect(last?.attempt == expected)
            expected = 3
            #expect(last?.progress.isFinished == true)
            #expect(last?.progress.sent.fraction == 1)
            #expect(text == "\(last?.progress.sent.wire ?? 0)")
        }
    }

    @Test("a single-use stream is not sent a second time, and the error reports it")
    func oneShot() async throws {
        let (server, session) = try await reluctant()
        let body = CurlewRequest.Body.once(
            AsyncStream {
                $0.yield([1])
                $0.finish()
            })
        let progress = CallProgress()
        let error = await curlewError {
            _ = try await session.upload(.raw(server.url()), .body(body), options: following(progress))
        }
        progress.finish()
        #expect(error?.code == .bodyNotReplayable)
        var last: CallProgress.Element?
        for await step in progress { last = step }
        #expect(last?.attempt == 1)
    }

    @Test("following progress keeps the task hooks of the options")
    func chained() async throws {
        let server = try await counter()
        let session = try makeSession()
        let (seen, see) = AsyncStream.makeStream(of: TaskActor.Identifier.self)
        var options = RequestOptions()
        options.onTask = { see.yield($0.id) }
        let progress = CallProgress()
        let response = try await session.upload(
            .raw(server.url()), .body(.string("x")), options: following(progress, options))
        progress.finish()
        for await id in seen {
            #expect(id == response.task?.id)
            break
        }
        _ = try await response.body.collect(upTo: 10)
        var last: CallProgress.Element?
        for await step in progress { last = step }
        #expect(last?.task.id == response.task?.id)
    }

    @Test("progress of a call that sends no request ends with the call")
    func nothingSent() async throws {
        let session = try makeSession()
        let error = await curlewError {
            _ = try await session.upload("http://127.0.0.1:1/", .file("/nowhere")) { _ in
                Issue.record("there was no task")
            }
        }
        #expect(error?.code == .bodyFailed)
    }

    @Test("an upload with progress returns at the head, even if the response's body is unread")
    func largeAnswer() async throws {
        let answer = [UInt8](repeating: 7, count: 8 << 20)
        let server = try await MockServer.start { request in
            for try await _ in request.body {}
            return MockResponse(body: .bytes(answer))
        }
        let session = try makeSession()
        let response = try await session.upload(.raw(server.url()), .body(.string("x"))) { _ in }
        #expect(try await response.bytes() == answer)
    }

    @Test("a file is sent while the main thread is busy")
    func mainThread() async throws {
        let server = try await counter()
        let session = try makeSession()
        let file = try TemporaryFile(bytes: 8 << 20)
        let gate = DispatchSemaphore(value: 0)
        defer { gate.signal() }
        await withCheckedContinuation { continuation in
            DispatchQueue.main.async {
                continuation.resume()
                gate.wait()
            }
        }
        let text = try await session.upload(.raw(server.url()), .file(file.path), as: .text)
        #expect(text == "\(8 << 20)")
    }
}

private func following(_ progress: CallProgress, _ options: RequestOptions = RequestOptions()) -> RequestOptions {
    var options = options
    progress.follow(&options)
    return options
}
