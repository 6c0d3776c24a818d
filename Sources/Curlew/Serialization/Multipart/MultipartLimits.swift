/// The bounds of what a reader of multipart bodies holds. Bodies of parts are streamed and have none.
public struct MultipartLimits: Sendable, Hashable {
    /// The most bytes in the fields of one part, line ends included. 16 KiB by default.
    public var headSize: ByteCount = .kibibytes(16)
    /// The most fields of one part. 100 by default.
    public var fieldCount = 100
    /// The most bytes that are read behind the last part, so that the connection can be used again. 64 KiB by default;
    /// beyond it the connection is closed.
    public var epilogueSize: ByteCount = .kibibytes(64)

    public init() {}
}
