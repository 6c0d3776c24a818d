extension RequestOptions {
    private enum UpgradeKey: Key {
        static let defaultValue: CurlewURI? = nil
        static let affectsResponse = false
    }

    /// The `http` URI that a link has upgraded to `https`.
    fileprivate var uriBeforeUpgrade: CurlewURI? {
        get { self[UpgradeKey.self] }
        set { self[UpgradeKey.self] = newValue }
    }
}

extension CurlewRequest {
    /// The original `http` URI of an upgraded request; nil if the request was not upgraded.
    var uriBeforeUpgrade: CurlewURI? {
        guard options.isAnySet, let uri = options.uriBeforeUpgrade, uri.upgraded().begins(like: self.uri) else {
            return nil
        }
        return uri
    }

    /// Upgrades the URI from `http` to `https`, and records that secrets for the `http` origin may go to the `https`
    /// origin: the host is the same, and the connection is safer.
    package mutating func upgrade() {
        guard !uri.layout.isSecure else { return }
        options.uriBeforeUpgrade = uri
        uri = uri.upgraded()
    }
}
