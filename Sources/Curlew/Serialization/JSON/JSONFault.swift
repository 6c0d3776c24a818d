/// A place where a text is not JSON.
struct JSONFault: Error {
    let message: String
    let position: Int

    /// The error that callers see: it has the place, and nothing of what stands there.
    func error(in bytes: [UInt8]) -> CurlewError {
        let before = bytes[..<min(position, bytes.count)]
        let line = before.count { $0 == .lineFeed } + 1
        let column = position - (before.lastIndex(of: .lineFeed) ?? -1)
        return CurlewError(.decodingFailed, "\(message), at line \(line), column \(column)")
    }
}
