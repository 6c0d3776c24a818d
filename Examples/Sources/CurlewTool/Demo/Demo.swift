import Curlew
import Glibc
import HTTPTypes

/// The demonstration of `make demo`.
enum Demo {
    struct Greeting: Codable, Sendable {
        var name: String
        var words: [String]
    }

    struct Receipt: Codable, Sendable {
        var received: Int
    }

    static let downloadSize = 64 << 20
    static let uploadSize = 32 << 20

    /// Five exchanges with an embedded server: a typed GET, a JSON POST, a streamed upload, a streamed download
    /// and a form.
    static func tour() async throws {
        let server = try DemoServer()
        let session = try HTTPSession(baseURL: server.url)
        var rows: [Report.Row] = []

        rows.append(
            try await follow("GET  greeting (typed)") { options in
                let greeting = try await session.get("greeting", as: Greeting.self, options: options)
                precondition(greeting.words.count == 2)
            })
        rows.append(
            try await follow("POST echo (JSON)") { options in
                let sent = Greeting(name: "curlew", words: ["wading", "bird"])
                let echoed = try await session.post("echo", .json(sent), as: Greeting.self, options: options)
                precondition(echoed.words == sent.words)
            })
        rows.append(
            try await follow("PUT  upload (streamed)") { options in
                let body = CurlewRequest.Body.stream(length: Int64(uploadSize)) {
                    Chunks(count: uploadSize / Chunks.size)
                }
                let response = try await session.put("upload", .body(body), options: options)
                let answer = try await response.body.collect(upTo: .kibibytes(1))
                precondition(String(decoding: answer, as: UTF8.self) == "\(uploadSize)")
            })
        rows.append(
            try await follow("GET  download (streamed)") { options in
                let response = try await session.get("download", options: options)
                var count = 0
                for try await chunk in response.body { count += chunk.count }
                precondition(count == downloadSize)
            })
        rows.append(
            try await follow("POST form (multipart)") { options in
                let form = try recordings()
                let response = try await session.post("form", .multipart(form), options: options)
                let answer = try await response.body.collect(upTo: .kibibytes(1))
                precondition(form.length.map { String(decoding: answer, as: UTF8.self) == "\($0)" } ?? false)
            })
        Report.write(rows)
        await session.shutdown(deadline: .seconds(5))
        server.shutdown()
    }

    /// A form with a field, this program as a file, and a stream.
    private static func recordings() throws -> MultipartFormData {
        var form = MultipartFormData()
        form.append("Numenius arquata", name: "species")
        try form.append(file: "/proc/self/exe", name: "program", fileName: "curlew")
        try form.append(
            .stream(length: Int64(uploadSize)) { Chunks(count: uploadSize / Chunks.size) }, name: "recording",
            fileName: "recording.wav")
        return form
    }

    /// A GET of any URL, with the same bar and table. An unsuccessful status is an error.
    /// - Parameter cache: Answers the request if it can; an extra line reports its result.
    static func get(_ url: String, _ cache: HTTPCache? = nil) async throws {
        let session = try HTTPSession(chain: cache.map { .caching($0) } ?? StandardChain.Options())
        var status = HTTPResponse.Status.ok
        var cacheStatus: HTTPCache.Status?
        let row = try await follow("GET  \(URLLabel.short(url))") { options in
            let response = try await session.get(.raw(url), options: options)
            status = response.status
            cacheStatus = response.cacheStatus
            for try await _ in response.body {}
        }
        Report.write([row])
        if let cacheStatus { Terminal.write("cache: \(cacheStatus)\n", to: STDOUT_FILENO) }
        await session.shutdown(deadline: .seconds(1))
        guard status.code < 400 else {
            throw CurlewError(.unacceptableStatus, "the server answered \(status.code) \(status.reasonPhrase)")
        }
    }

    /// Runs one exchange with a live progress bar, and collects the data of the table.
    private static func follow(
        _ title: String, _ exchange: (RequestOptions) async throws -> Void
    ) async throws -> Report.Row {
        let (tasks, announce) = AsyncStream.makeStream(of: TaskActor.self)
        var options = RequestOptions()
        options.onTask = { announce.yield($0) }
        let bar = ProgressBar(title: title)
        let watcher = Task {
            var last: TaskActor?
            for await task in tasks {
                last = task
                for await progress in task.progress { bar.show(progress) }
            }
            return last
        }
        let clock = ContinuousClock()
        let start = clock.now
        do {
            try await exchange(options)
        } catch {
            announce.finish()
            watcher.cancel()
            _ = await watcher.value
            bar.end()
            throw error
        }
        let time = clock.now - start
        announce.finish()
        let task = await watcher.value
        bar.end()
        return await Report.Row(title: title, task: task, time: time)
    }
}

/// Chunks of bytes, created on demand.
struct Chunks: AsyncSequence, Sendable {
    static let size = 256 << 10
    let count: Int

    struct Iterator: AsyncIteratorProtocol {
        var left: Int
        let chunk = [UInt8](repeating: 0x2E, count: Chunks.size)

        mutating func next() async throws -> [UInt8]? {
            guard left > 0 else { return nil }
            left -= 1
            return chunk
        }
    }

    func makeAsyncIterator() -> Iterator { Iterator(left: count) }
}

enum URLLabel {
    /// A URL for a column: without user information, at most 40 characters.
    static func short(_ url: String) -> String {
        let text = (try? CurlewURI(url).description) ?? "?"
        return text.count <= 40 ? text : "\(text.prefix(39))…"
    }
}
