import Curlew
import Glibc

/// The work of a program whose downloads outlive it: it resumes from the token file if there is one.
struct Download {
    let url: String
    let folder: String
    let segments: Int

    func run() async throws {
        let path = "\(folder)/file"
        let tokenFile = "\(folder)/token"
        var options = DownloadTask.Options()
        options.tokenFile = tokenFile
        options.checkpoint = .mebibytes(1)
        options.segments = segments
        options.retries.attempts = 4
        let session = try HTTPSession(chain: .bare)
        if access(tokenFile, F_OK) == 0 {
            let token = try await ResumeToken(contentsOf: tokenFile)
            if await token.isFinished {
                unlink(tokenFile)
            } else {
                _ = try await session.download(resuming: token, download: options)
            }
        } else {
            _ = try await session.download(.raw(url), to: .file(path), download: options)
        }
        await session.shutdown()
    }
}
