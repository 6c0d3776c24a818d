internal import COpenSSL

extension SecurityPolicy {
    /// Lists of revoked certificates (RFC 5280 §5), and the certificates for which a list is required.
    ///
    /// If a required list is missing or outdated, no server is accepted (``ErrorCode/revocationUnknown``).
    public struct RevocationLists: Sendable, Hashable, Codable {
        /// The certificates of the chain for which a list is required.
        public struct Scope: RawRepresentable, Sendable, Hashable, Codable {
            public let rawValue: String

            public init(rawValue: String) { self.rawValue = rawValue }

            /// The server's own certificate.
            public static let leaf = Scope(rawValue: "leaf")
            /// All certificates but the anchor.
            public static let chain = Scope(rawValue: "chain")
        }

        /// The limit on the size of all lists: 64 MiB.
        public static let sizeLimit: ByteSize = .mebibytes(64)

        /// The lists in DER.
        public let lists: [[UInt8]]
        /// The certificates for which a list is required.
        public var scope: Scope

        /// Reads lists in DER or PEM; a PEM text may contain several.
        /// - Throws: ``CurlewError`` with ``ErrorCode/invalidTLSSetting`` for invalid bytes, or for more than
        ///   ``sizeLimit``.
        public init(_ data: [[UInt8]], scope: Scope = .leaf) throws {
            guard data.reduce(0, { $0 + $1.count }) <= Self.sizeLimit.bytes else {
                throw CurlewError(
                    .invalidTLSSetting, "the revocation lists have more than \(Self.sizeLimit.bytes) bytes")
            }
            lists = try data.flatMap { try Self.read($0) }
            self.scope = scope
        }

        /// Reads files in DER or PEM. The call blocks while it reads.
        public init(files: [String], scope: Scope = .leaf) throws {
            try self.init(files.map { try SecurityFile.bytes(of: $0, limit: Self.sizeLimit.bytes) }, scope: scope)
        }

        private static func read(_ bytes: [UInt8]) throws -> [[UInt8]] {
            let found = PEMText.isPEM(bytes) ? try PEMText.blocks(in: bytes, labels: ["X509 CRL"]) : [bytes]
            guard !found.isEmpty else { throw CurlewError(.invalidTLSSetting, "no revocation list was found") }
            for list in found { _ = try RevocationListHandle(der: list) }
            return found
        }
    }
}
