import CurlewTesting
import CurlewTestingTraits
import FoundationEssentials
import TestHelpers

@testable import CurlewCore
@testable import CurlewTransfers

/// A file that a test uploads, in its own folder.
struct UploadSource: Sendable {
    let folder: ScratchFolder
    let bytes: [UInt8]

    init(count: Int) throws {
        folder = try ScratchFolder()
        bytes = BytePattern.bytes(count: count)
        try write(bytes)
    }

    var path: String { "\(folder.path)/film" }

    func write(_ bytes: [UInt8]) throws { try Data(bytes).write(to: URL(filePath: path)) }
}

extension ResumableUpload.Options {
    /// Options without waits between attempts.
    static var quick: ResumableUpload.Options {
        var options = ResumableUpload.Options()
        options.retries.backoff = Retry.Backoff(base: .zero)
        return options
    }
}
