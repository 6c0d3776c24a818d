/// How the lines of a multipart body end.
enum LineEnd: Sendable {
    case carriageReturnLineFeed
    case lineFeed

    var bytes: [UInt8] { self == .lineFeed ? [.lineFeed] : [.carriageReturn, .lineFeed] }
}
