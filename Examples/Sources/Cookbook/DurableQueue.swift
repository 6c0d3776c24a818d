import Curlew
import CurlewStorage

/// A queue of downloads that several processes work at, and that outlives each of them.
///
/// - Parameter discs: The downloads to add: URLs with their SHA-256. A worker that joins adds none.
/// - Returns: The paths of the files, in the order of their names, once nothing is left to do.
public func mirror(
    _ discs: [(url: String, sha256: String)], into folder: String, onEnqueued: @Sendable () -> Void = {}
) async throws -> [String] {
    var options = DurableSession.Options()
    options.limits.perHost = 4
    options.checkpoint = .mebibytes(1)
    let queue = try await DurableSession(
        identifier: "mirror", folder: "\(folder)/queue", http: HTTPSession(), options: options)
    try await queue.enqueue(
        discs.map { disc in
            var request = DurableTransfer.Request.download(disc.url, to: .folder(folder))
            request.integrity = try .sha256(disc.sha256)
            return request
        })
    onEnqueued()
    try await queue.run(untilDrained: true)
    var paths: [String] = []
    for transfer in try await queue.transfers(in: [.finished]) {
        if case .file(let file) = transfer.outcome { paths.append(file.path) }
    }
    try await queue.close()
    return paths.sorted()
}
