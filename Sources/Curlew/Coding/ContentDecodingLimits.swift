/// Bounds on what ``ContentDecoding`` makes of a body, against small ones that become very large.
public struct ContentDecodingLimits: Sendable, Hashable, Codable {
    /// How many codings may lie one upon the other. 5 by default; more are ``ErrorCode/contentDecodingFailed``.
    public var codings: Int
    /// How many times larger a body may become than what was received of it so far, once it is larger than
    /// ``ratioFreeSize``. 100 by default; nil for no such bound. Beyond it is ``ErrorCode/responseTooLarge``. It also holds
    /// for what lies between two codings.
    public var ratio: Int?
    /// Up to this size a body may grow as it likes. 64 MiB by default: logs and tables often shrink by more than a hundred.
    public var ratioFreeSize: ByteCount
    /// The most bytes that a decoded body may have. nil, the default, leaves this to whoever reads it. Beyond it is
    /// ``ErrorCode/responseTooLarge``.
    public var size: ByteCount?

    public init(
        codings: Int = 5, ratio: Int? = 100, ratioFreeSize: ByteCount = .mebibytes(64), size: ByteCount? = nil
    ) {
        self.codings = codings
        self.ratio = ratio
        self.ratioFreeSize = ratioFreeSize
        self.size = size
    }
}

extension ContentDecodingLimits {
    /// What may be made of so many bytes at most, at any place between the codings.
    func growth(of received: Int) -> Int {
        guard let ratio else { return .max }
        let (product, overflow) = max(0, ratio).multipliedReportingOverflow(by: received)
        return overflow ? .max : max(ratioFreeSize.bytes, product)
    }
}
