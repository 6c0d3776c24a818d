internal import Dispatch
internal import Glibc

/// What keeps the token of a download and gives its file the name, where that is not the download's own business.
///
/// Its part file has a name that is known beforehand, so that one which was left behind before there was a token is found.
package struct DownloadCustody: Sendable {
    /// The name of the part file, in the folder of the destination: as those of ``ResumeToken``, `.….part`.
    let partName: String
    /// Takes the newest token, nil if the bytes cannot be resumed, and the length of the whole, if it is known. The bytes that a
    /// token lists are in the part file. What it throws ends the download.
    let keep: @Sendable (ResumeToken?, Int64?) async throws -> Void
    /// Gives the file that is whole its name, and returns its path.
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
    /// - Parameter isForced: Whether those, too, that somebody writes still. They must have been given up for good.
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
