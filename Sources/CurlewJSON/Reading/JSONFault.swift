internal import CurlewSupport

/// A position where a text is not JSON.
struct JSONFault: Error {
    let message: String
    let position: Int

    /// The error for callers. It contains the position, and no part of the text.
    func error(in bytes: [UInt8]) -> JSONCoding.Failure {
        let before = bytes[..<min(position, bytes.count)]
        let line = before.count { $0 == .lineFeed } + 1
        let column = position - (before.lastIndex(of: .lineFeed) ?? -1)
        return JSONCoding.Failure(
            reading: message, at: JSONCoding.Failure.Position(offset: position, line: line, column: column))
    }
}
