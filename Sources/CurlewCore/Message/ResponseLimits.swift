extension CurlewResponse {
    /// Limits for the parts of a response outside its body, and for the collected body.
    public struct Limits: Sendable, Hashable, Codable {
        /// The bytes of all heads and trailers of one response, interim responses included. 256 KiB by default. libcurl
        /// has limits of its own: 300 KiB in all, and 100 KiB for a single line.
        public var headSize: ByteSize
        /// The field lines of one head or one trailer section, folded lines included. 1,000 by default, at most 60,000.
        /// libcurl from 8.14 on accepts fewer than 5,000.
        public var fieldCount: Int
        /// The most interim responses that are kept for the caller. 16 by default. An exchange with more than 100
        /// fails.
        public var interimResponses: Int
        /// The most bytes of a body that the typed verbs collect. 64 MiB by default.
        public var collectedBody: ByteSize

        public init(
            headSize: ByteSize = .kibibytes(256),
            fieldCount: Int = 1000,
            interimResponses: Int = 16,
            collectedBody: ByteSize = .mebibytes(64)
        ) {
            self.headSize = headSize
            self.fieldCount = min(fieldCount, 60_000)
            self.interimResponses = interimResponses
            self.collectedBody = collectedBody
        }
    }
}
