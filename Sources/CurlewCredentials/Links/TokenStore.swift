internal import Curlew
internal import FoundationEssentials

extension OAuth {
    /// A store of a token between requests, and perhaps between processes.
    ///
    /// The content of a store is secret. Calls do not overlap unless several credentials share the store. The functions
    /// must not call ``OAuthCredential/forget()``, which waits for them. Every request for a token waits for the store,
    /// so a store that may hang needs a timeout of its own.
    public protocol TokenStore: Sendable {
        /// The stored token; nil without one.
        func load() async throws -> OAuth.Token?
        /// Replaces the stored token; nil removes it.
        func save(_ token: OAuth.Token?) async throws
    }

    /// A store in memory.
    public actor MemoryTokenStore: TokenStore {
        private var token: OAuth.Token?

        /// - Parameter token: The initial token.
        public init(_ token: OAuth.Token? = nil) { self.token = token }

        public func load() -> OAuth.Token? { token }

        public func save(_ token: OAuth.Token?) { self.token = token }
    }

    /// A store in a file that only its owner may read and write (mode 0600).
    ///
    /// The file is replaced atomically, so other processes read the old token or the new token. A symbolic link at the
    /// path is replaced by the file. A file that other users may read or write fails with
    /// ``Curlew/ErrorCode/credentialFileExposed``.
    public struct FileTokenStore: TokenStore {
        /// The path of the file. Its folder must exist.
        public let path: String

        /// The largest size of a file: 256 KiB.
        static let sizeLimit = 256 << 10

        /// - Parameter path: The path of the file.
        public init(_ path: String) { self.path = path }

        /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/credentialFileExposed``, or with
        ///   ``Curlew/ErrorCode/invalidCredential`` for a file that cannot be read, or that contains no token.
        public func load() async throws -> OAuth.Token? {
            guard let bytes = try await SecretFile.readElsewhereIfPresent(path, limit: Self.sizeLimit) else {
                return nil
            }
            do {
                return try JSONDecoder().decode(OAuth.Token.self, from: Data(bytes))
            } catch {
                throw CurlewError(.invalidCredential, "\(path) holds no token")
            }
        }

        /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/fileFailed``.
        public func save(_ token: OAuth.Token?) async throws {
            guard let token else { return try await SecretFile.removeElsewhere(path) }
            try await SecretFile.writeElsewhere(Array(JSONEncoder().encode(token)), to: path)
        }
    }
}
