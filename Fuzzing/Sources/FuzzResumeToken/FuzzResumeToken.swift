internal import FoundationEssentials
internal import FuzzingKit

@testable internal import CurlewCore

/// A fuzz target for download tokens. A decoded token must stay within its bounds, and must be equal after writing and
/// reading.
///
/// The input is JSON.
@main
struct FuzzResumeToken: FuzzTarget {
    static func check(_ input: [UInt8]) {
        guard let token = try? JSONDecoder().decode(ResumeToken.self, from: Data(input)) else { return }
        require(token.received.count <= ResumeToken.rangeLimit, "there are too many ranges")
        var position: Int64 = 0
        for piece in token.received {
            require(piece.range.lowerBound >= position && !piece.range.isEmpty, "ranges overlap")
            require(piece.sha256.map { $0.utf8.count == 64 } ?? true, "a hash is none")
            position = piece.range.upperBound
        }
        require(position <= token.identity.size, "there are more bytes than the part has")
        require(token.total.map { position <= $0 } ?? true, "there are more bytes than the whole has")
        require(token.receivedCount >= 0, "a negative number of bytes has come")
        require(token.uri.userInformation == nil, "there is user information")
        for path in [token.partPath, token.destination ?? "/"] {
            require(path.hasPrefix("/") && !path.utf8.contains(0), "a path cannot be used")
        }
        require(token.partPath.hasSuffix(".part"), "the part could be any file")
        require(token.validator.value.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }, "the validator cannot be sent")
        guard let written = try? JSONEncoder().encode(token) else { return require(false, "it cannot be written") }
        requireEqual(
            try? JSONDecoder().decode(ResumeToken.self, from: written), token, "it is another one when read again")
    }
}
