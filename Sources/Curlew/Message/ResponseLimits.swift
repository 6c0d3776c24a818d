extension CurlewResponse {
    /// Bounds on what a response may send outside its body, and on what is collected of the body.
    public struct Limits: Sendable, Hashable, Codable {
        /// Bytes of all heads and trailers of one response, interim ones included. 256 KiB by default; libcurl has a bound of
        /// its own at 300 KiB, and one of 100 KiB for a single line.
        public var headSize: ByteSize
        /// Field lines, folded ones as well, of one head or one trailer section. 1,000 by default; more than 60,000 are never
        /// taken, nor 5,000 or more by libcurl from 8.14 on.
        public var fieldCount: Int
        /// The most interim responses that are kept for the caller. 16 by default; more than 100 fail the exchange.
        public var interimResponses: Int
        /// What the typed verbs collect of a body at most. 64 MiB by default.
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
