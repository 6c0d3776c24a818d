extension RequestOptions {
    private enum NotStoredKey: Key {
        static let defaultValue = false
        static let affectsResponse = false
    }

    /// True if caches neither answer this request nor store its response, unless the caller has chosen a policy: the
    /// client keeps the content elsewhere, or the content is current only when it arrives.
    package var isNotStored: Bool {
        get { self[NotStoredKey.self] }
        set { self[NotStoredKey.self] = newValue }
    }
}
