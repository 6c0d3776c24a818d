extension StrictTransport: RequestLink {}

extension StandardChain.Options {
    /// The link that changes to `https` for hosts that have requested it. nil, the default, keeps the scheme of the
    /// URL.
    public var strictTransport: StrictTransport? {
        get { transportLink as? StrictTransport }
        set { transportLink = newValue }
    }
}
