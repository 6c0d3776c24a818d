internal import CurlewPlatform
internal import Dispatch

/// An external owner of a download: it keeps the token and names the file in place of the download.
///
/// The part file has a predictable name, so that a part file from a time before the first token is found.
package struct DownloadCustody: Sendable {
    /// The name of the part file, in the folder of the destination. The form is that of ``ResumeToken``: `.….part`.
    let partName: String
    /// Stores the newest token, nil if the bytes cannot be resumed, and the length of the complete file, if it is
    /// known. The bytes that a token lists are in the part file. An error ends the download.
    let keep: @Sendable (ResumeToken?, Int64?) async throws -> Void
    /// Renames the complete file, and returns its path.
    let name: @Sendable (WholeFile) async throws -> String

    package init(
        partName: String, keep: @escaping @Sendable (ResumeToken?, Int64?) async throws -> Void,
        name: @escaping @Sendable (WholeFile) async throws -> String
    ) {
        self.partName = partName
        self.keep = keep
        self.name = name
    }

    private static let removal = DispatchQueue(label: "curlew.parts.removal", attributes: .concurrent)

    /// Removes part files that processes left behind.
    /// - Parameter isForced: True if part files that another process still writes are removed too. The caller must have
    ///   abandoned their downloads.
    package static func removeParts(_ names: [String], in folder: String, evenInUse isForced: Bool = false) async {
        let paths = names.map { "\(folder)/\($0)" }
        let left = await withCheckedContinuation { continuation in
            removal.async {
                if isForced { for path in paths { unlink(path) } }
                continuation.resume(returning: paths.filter { access($0, F_OK) == 0 })
            }
        }
        for path in left {
            guard let part = try? await PartFile.reopen(path) else { continue }
            await part.discard()
            await part.release()
        }
    }
}
