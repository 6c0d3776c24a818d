extension HTTPCache: RequestLink {}

extension StandardChain.Options {
    /// The link that answers from a store. nil, the default, disables caching.
    public var cache: HTTPCache? {
        get { cacheLink as? HTTPCache }
        set { cacheLink = newValue }
    }

    /// The default options with a cache.
    ///
    /// ```swift
    /// let api = try HTTPSession(baseURL: "https://api.example.com/", chain: .caching())
    /// ```
    /// - Parameter cache: The cache. The default is a new one in memory, for requests without credentials.
    public static func caching(_ cache: HTTPCache = HTTPCache()) -> Self {
        var options = Self()
        options.cache = cache
        return options
    }
}
