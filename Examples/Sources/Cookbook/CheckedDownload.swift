import Curlew

/// A download of a large file that is checked by its digest, and resumes after a lost connection or a killed process.
///
/// The call is the same at each start until the file is complete: the token file records the received part.
public func fetchDisc(
    from base: String, sha256: String, into folder: String, show: @escaping @Sendable (Double) -> Void = { _ in }
) async throws -> String {
    let site = try HTTPSession(baseURL: base)
    let disc = try await site.download(
        "disc.iso", to: .file("\(folder)/disc.iso"), integrity: .sha256(sha256), attempts: 6,
        tokenFile: "\(folder)/disc.token"
    ) { progress in
        show(progress.received.fraction ?? 0)
    }
    return disc.path
}
