import Curlew
import Glibc

/// What a program does that wants its downloads to outlive it: goes on from the token's file if there is one.
struct Download {
    let url: String
    let folder: String
    let segments: Int

    func run() async throws {
        let path = "\(folder)/file"
        let tokenFile = "\(folder)/token"
        // The last life ended between the file's name and the token's removal.
        if access(path, F_OK) == 0 {
            unlink(tokenFile)
            return
        }
        var options = DownloadOptions()
        options.tokenFile = tokenFile
        options.checkpoint = .mebibytes(1)
        options.segments = segments
        options.resumes = 3
        let session = try HTTPSession()
        if access(tokenFile, F_OK) == 0 {
            _ = try await session.download(
                resuming: try await ResumeToken(contentsOf: tokenFile), download: options)
        } else {
            _ = try await session.download(url, to: .file(path), download: options)
        }
        await session.shutdown()
    }
}
