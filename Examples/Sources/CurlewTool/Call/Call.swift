import ArgumentParser
import Curlew
import CurlewStorage
import Glibc
import HTTPTypes
import Logging

/// `curlew [METHOD] URL [item…]`: sends a request, and prints the body of the response.
struct Call: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get", abstract: "Send a request and print the body; the word 'get' may be omitted.",
        usage: "curlew [<method>] <url> [<item> ...] [<options>]", discussion: CallHelp.text)

    @Argument(help: ArgumentHelp("[METHOD] URL [item…]", valueName: "word"))
    var words: [String]

    @OptionGroup(title: "Request") var request: RequestWords
    @OptionGroup(title: "Connection") var connection: ConnectionWords
    @OptionGroup(title: "Output") var output: OutputWords

    @Flag(help: "Answer from a cache on the disk where HTTP allows it, and store there; see 'curlew cache'.")
    var cache = false

    @OptionGroup var folder: CacheFolder

    func validate() throws {
        _ = try RequestLine(words, request)
        if output.curl, cache { throw ValidationError("--curl sends nothing; it has no --cache.") }
    }

    func run() async throws {
        var line = try RequestLine(words, request)
        if let user = line.credential, !user.contains(":") { line.credential = "\(user):\(try password(of: user))" }
        if output.curl {
            let text = try await CurlText(line, connection, output, masksSecrets: !output.showsSecrets).text()
            return Terminal.write("\(text)\n", to: STDOUT_FILENO)
        }
        // The library's warnings are not shown: the user of --insecure knows its meaning.
        LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() }
        let work = Task { [line] in try await exchange(line) }
        let interruption = await Interruption {
            work.cancel()
            // A write into a full pipe cannot be cancelled.
            try? await Task.sleep(for: .seconds(1))
            _exit(130)
        }
        let result = await work.result
        await interruption.end()
        if await interruption.hasHappened { throw ExitCode(130) }
        try conclude(result)
    }

    private func conclude(_ result: Result<Void, any Error>) throws {
        let showsErrors = !output.isSilent || output.showsErrors
        do {
            try result.get()
        } catch OutputFailure.closed {
            throw ExitCode(23)
        } catch OutputFailure.failed(let error) {
            if showsErrors { Messages.report(error) }
            throw ExitCode(23)
        } catch let error as CurlewError {
            if showsErrors { Messages.report(error) }
            throw ExitCode(ExitStatus.status(for: error))
        }
    }

    /// Asks for the password on the terminal.
    private func password(of user: String) throws -> String {
        guard !output.curl else { return "" }
        guard let text = getpass("password of \(printable(user)): ") else {
            throw ValidationError("--user needs user:password; there is no terminal to ask for the password.")
        }
        return String(cString: text)
    }

    // MARK: Exchange

    private func exchange(_ line: RequestLine) async throws {
        guard cache else { return try await exchange(line, through: nil) }
        let store = try await folder.open()
        let cache = HTTPCache(store: store, mode: .singleUser)
        do {
            try await exchange(line, through: cache)
        } catch {
            try? await store.close()
            throw error
        }
        await cache.flush()
        try await store.close()
    }

    private func exchange(_ line: RequestLine, through cache: HTTPCache?) async throws {
        let verbose = VerboseLines(isOn: output.isVerbose, showsSecrets: output.showsSecrets)
        let session = try await CallSession.make(connection, cache: cache, link: verbose.link)
        var options = RequestOptions(totalTimeout: connection.maximumTime?.duration)
        options.showsQueries = true
        let tasks = CallTasks()
        tasks.follow(&options)
        var request = try await line.request(options: options)
        if output.events, !line.hasField("Accept") {
            request.fields[.accept] = "text/event-stream, application/x-ndjson, */*;q=0.5"
        }
        do {
            try await receive(try await session.send(request), of: line, tasks)
        } catch {
            await session.shutdown(deadline: .zero)
            throw error
        }
        await session.shutdown(deadline: .seconds(1))
    }

    private func receive(_ response: CurlewResponse, of line: RequestLine, _ tasks: CallTasks) async throws {
        let heads = ResponseHeads(response)
        let file = OutputFile(try outputPath(of: response, line))
        let printer = ResponsePrinter(file, output)
        if let path = output.headFile { try OutputFile(path).write(heads.text) }
        if output.includesHead || line.method == .head { try printer.show(heads) }
        if let status = response.cacheStatus, !output.isSilent { Messages.note("cache: \(status)") }
        let isFailure = response.status.code >= 400 && (output.fails || output.failsWithBody)
        if isFailure, !output.failsWithBody {
            await response.discard()
        } else if output.events {
            try await printer.showEvents(of: response)
        } else {
            try await printer.showBody(of: response)
        }
        if output.timing || output.writeOut != nil {
            let report = await TimingReport(tasks.finished, response, size: printer.size)
            if output.timing { Terminal.write(report.text, to: STDERR_FILENO) }
            if let format = output.writeOut {
                let output = OutputFile("-")
                try output.write(report.writeOut(format, isTerminal: output.isTerminal))
            }
        }
        if isFailure {
            throw CurlewError(
                .unacceptableStatus, "the server answered \(response.status.code) \(response.status.reasonPhrase)")
        }
    }

    private func outputPath(of response: CurlewResponse, _ line: RequestLine) throws -> String {
        guard output.usesRemoteName else { return output.output ?? "-" }
        let name = try CurlewURI(line.url).path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        guard !name.isEmpty, name != ".", name != ".." else {
            throw CurlewError(.invalidDestination, "the URL names no file; --output does")
        }
        // A name that begins with a dash would be an option of the next command.
        return name.hasPrefix("-") ? "./\(name)" : String(name)
    }
}

/// The tasks of a call: one for each redirect and each attempt.
final class CallTasks: Sendable {
    private let stream: AsyncStream<TaskActor>
    private let continuation: AsyncStream<TaskActor>.Continuation

    init() { (stream, continuation) = AsyncStream.makeStream(of: TaskActor.self) }

    func follow(_ options: inout RequestOptions) {
        options.onTask = { [continuation] in continuation.yield($0) }
    }

    /// All tasks, once each has ended.
    var finished: [TaskActor] {
        get async {
            continuation.finish()
            var tasks: [TaskActor] = []
            for await task in stream {
                for await progress in task.progress where progress.isFinished { break }
                tasks.append(task)
            }
            return tasks
        }
    }
}
