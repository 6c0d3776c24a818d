import Curlew
import Glibc
import TerminalOutput

/// A file of `curlew download`.
struct DownloadJob: Sendable {
    /// The result of a job.
    enum Outcome: Sendable {
        case whole(path: String)
        case failed(CurlewError)

        var path: String? {
            if case .whole(let path) = self { path } else { nil }
        }

        var error: CurlewError? {
            if case .failed(let error) = self { error } else { nil }
        }
    }

    let number: Int
    private let url: String
    private let command: Download
    private let session: HTTPSession
    private let board: TransferBoard
    private let current = CurrentTask()

    init(_ number: Int, of url: String, for command: Download, _ session: HTTPSession, _ board: TransferBoard) throws {
        self.number = number
        self.url = url
        self.command = command
        self.session = session
        self.board = board
        _ = try session.resolve(.raw(url))
    }

    func run() async -> Outcome {
        do {
            if let path = try await finishedBefore() {
                await board.end(number, .done)
                return .whole(path: path)
            }
            let task = try await makeTask()
            guard await current.set(task) else { throw CurlewError(.cancelled, "interrupted") }
            task.resume()
            for await progress in task.progress where !progress.isFinished {
                await board.advance(number, to: progress.received.wire, of: progress.received.total)
            }
            let file = try await task.file()
            await board.advance(number, to: file.size, of: file.size)
            await board.rename(number, to: FileNames.name(ofPath: file.path))
            await board.end(number, .done)
            return .whole(path: file.path)
        } catch {
            let error = error as? CurlewError ?? CurlewError(.fileFailed, "\(error)")
            await board.end(number, .failed(error.isCancellation ? "interrupted" : "failed"))
            return .failed(error)
        }
    }

    /// Stops the download, and keeps the received bytes.
    func stop() async { await current.stop() }

    /// The path of the complete file, if an earlier run only failed to remove its token. A file of the same name from
    /// elsewhere does not qualify, nor does any file if a hash is to be checked now.
    private func finishedBefore() async throws -> String? {
        let tokenPath = command.tokenPath(of: url)
        guard command.resume, command.hash == nil, let token = try? await ResumeToken(contentsOf: tokenPath),
            token.uri == (try session.resolve(.raw(url))), await token.isFinished
        else { return nil }
        unlink(tokenPath)
        return token.destination
    }

    private func makeTask() async throws -> DownloadTask {
        let options = try command.options(for: url)
        if let token = try await leftBehind() {
            return try session.downloadTask(resuming: token, to: try command.destination, download: options)
        }
        return try session.downloadTask(.raw(url), to: try command.destination, download: options)
    }

    /// The token of an earlier run. It is discarded unless the download is to be resumed.
    private func leftBehind() async throws -> ResumeToken? {
        let tokenPath = command.tokenPath(of: url)
        guard access(tokenPath, F_OK) == 0 else { return nil }
        // A file that has the name of a token but is not one belongs to the user and must not be overwritten: an error.
        let token = try await ResumeToken(contentsOf: tokenPath)
        guard command.resume, token.uri == (try session.resolve(.raw(url))) else {
            await token.discard()
            return nil
        }
        return token
    }
}

/// The task of a job, which can be stopped from elsewhere.
private actor CurrentTask {
    private var task: DownloadTask?
    private var isStopped = false

    /// - Returns: False if the task must not start.
    func set(_ task: DownloadTask) -> Bool {
        self.task = task
        return !isStopped
    }

    func stop() async {
        isStopped = true
        await task?.cancel()
    }
}
