import Curlew
import Glibc
import HTTPTypes

/// The demonstration of `make demo`.
package enum Demo {
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
    /// and a form. ``DemoSession`` follows.
    package static func tour() async throws {
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
        try await DemoSession(session: session).run()
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
