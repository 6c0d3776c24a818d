extension RequestOptions {
    private enum UpgradeKey: Key {
        static let defaultValue: CurlewURI? = nil
        static let affectsResponse = false
    }

    /// The URI of `http` that a link has made one of `https`.
    fileprivate var uriBeforeUpgrade: CurlewURI? {
        get { self[UpgradeKey.self] }
        set { self[UpgradeKey.self] = newValue }
    }
}

extension CurlewRequest {
    /// The URI of `http` in whose place that of `https` stands; nil if it was asked for as it is.
    var uriBeforeUpgrade: CurlewURI? {
        guard options.isAnySet, let uri = options.uriBeforeUpgrade, uri.upgraded().begins(like: self.uri) else {
            return nil
        }
        return uri
    }

    /// Makes `https` of `http`, and notes that secrets for the one origin may go to the other: the host is the same, and it is
    /// safer there.
    mutating func upgrade() {
        guard !uri.layout.isSecure else { return }
        options.uriBeforeUpgrade = uri
        uri = uri.upgraded()
    }
}
