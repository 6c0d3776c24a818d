/// The reason why a credential, a signature or a file of secrets cannot be made, read or accepted.
///
/// The message is one readable line of English. It never holds a key, a token, a password or a signature, so it may be
/// logged.
public struct CredentialsError: Error, Sendable, Hashable {
    /// The kind of failure.
    public let code: CredentialsError.Code
    /// The failure in one line, for a log or a person.
    public let message: String

    init(_ code: CredentialsError.Code, _ message: String) {
        self.code = code
        self.message = PeerText.escaped(message, limit: 1024)
    }
}

extension CredentialsError: CustomStringConvertible {
    public var description: String { "\(code): \(message)" }
}

extension CredentialsError {
    /// The kind of a ``CredentialsError``. Later versions may have more.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Kind: String {
            case invalidSetting, invalidRequest, invalidKey, invalidSource, openPermissions, tooLarge
            case invalidResponse, signatureMissing, signatureRejected, systemFailed
        }

        private let kind: Kind

        /// An argument that has no meaning, such as a lifetime below a second.
        public static let invalidSetting = Code(kind: .invalidSetting)
        /// A request that cannot be signed as it is, such as one without a host.
        public static let invalidRequest = Code(kind: .invalidRequest)
        /// A key that cannot be read, is of the wrong kind, or is too small.
        public static let invalidKey = Code(kind: .invalidKey)
        /// A file, an environment or an answer of a metadata service that holds no usable credential.
        public static let invalidSource = Code(kind: .invalidSource)
        /// A file of secrets that other users of the machine may read or have written.
        public static let openPermissions = Code(kind: .openPermissions)
        /// Input above its limit.
        public static let tooLarge = Code(kind: .tooLarge)
        /// An answer of a token endpoint that holds no usable token.
        public static let invalidResponse = Code(kind: .invalidResponse)
        /// A message without the signature that is required.
        public static let signatureMissing = Code(kind: .signatureMissing)
        /// A signature that is malformed, too old, covers too little, or is wrong.
        public static let signatureRejected = Code(kind: .signatureRejected)
        /// A failure of OpenSSL or of the operating system.
        public static let systemFailed = Code(kind: .systemFailed)

        public var description: String { kind.rawValue }
    }
}
