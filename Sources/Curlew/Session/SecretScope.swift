extension HTTPSession {
    /// The origins that secrets of a session go to: its default fields and what its links add, such as a bearer token.
    public struct SecretScope: Sendable, Hashable {
        enum Kind: Sendable, Hashable {
            case base
            case origins(Set<String>)
            case any
        }

        let kind: Kind

        /// The origin of the base URL alone. The default.
        public static let baseOrigin = SecretScope(kind: .base)
        /// The origin of the base URL and those of other URLs.
        public static func origins(_ uris: [CurlewURI]) -> SecretScope {
            SecretScope(kind: .origins(Set(uris.map(\.origin))))
        }
        /// Every origin, those that a server's redirect names among them: nothing is taken off but what ``Redirects`` does.
        public static let anyOrigin = SecretScope(kind: .any)

        func contains(_ uri: CurlewURI, base: CurlewURI) -> Bool {
            if kind == .any || uri.begins(like: base) || uri.hasSameOrigin(as: base) { return true }
            guard case .origins(let origins) = kind else { return false }
            return origins.contains(uri.origin)
        }
    }
}
