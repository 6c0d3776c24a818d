public import HTTPTypes

/// The options of one request. nil stands for the value of the session's configuration.
///
/// A timeout of zero or less fails with ``ErrorCode/invalidRequest`` before anything is sent; ``Timeouts/unlimited`` is
/// no limit.
///
/// Links declare options of their own by ``Key``.
public struct RequestOptions: Sendable {
    /// The longest time from the start of connecting to a usable connection; see ``Timeouts/connect``.
    public var connectTimeout: Duration? {
        get { storage?.values.connectTimeout }
        set { change { $0.connectTimeout = newValue } }
    }
    /// The longest time without a byte in either direction; see ``Timeouts/idle``. ``Timeouts/unlimited`` means no
    /// limit.
    public var idleTimeout: Duration? {
        get { storage?.values.idleTimeout }
        set { change { $0.idleTimeout = newValue } }
    }
    /// The longest time from start to end; see ``Timeouts/total``.
    ///
    /// As an option of a request, the limit is a deadline for the complete call: ``Redirects`` and ``Retry`` give each
    /// further request the time that is left, and their waits count. The session's ``Timeouts/total`` applies to each
    /// request separately. ``Timeouts/unlimited`` means no limit, whatever the session's limit.
    public var totalTimeout: Duration? {
        get { storage?.values.totalTimeout }
        set { change { $0.totalTimeout = newValue } }
    }
    /// The longest wait for a connection; see ``Timeouts/connectionWait``.
    public var connectionWaitTimeout: Duration? {
        get { storage?.values.connectionWaitTimeout }
        set { change { $0.connectionWaitTimeout = newValue } }
    }
    /// The longest time between the request and the first byte of the response; see ``Timeouts/head``. Long polls set
    /// it.
    public var headTimeout: Duration? {
        get { storage?.values.headTimeout }
        set { change { $0.headTimeout = newValue } }
    }
    /// The versions of HTTP that may be used.
    public var versionPolicy: HTTPVersionPolicy? {
        get { storage?.values.versionPolicy }
        set { change { $0.versionPolicy = newValue } }
    }
    /// The destination and the local end of the connection.
    public var route: ConnectionRoute? {
        get { storage?.values.route }
        set { change { $0.route = newValue } }
    }
    /// The addresses that may be connected to.
    public var addressPolicy: AddressPolicy? {
        get { storage?.values.addressPolicy }
        set { change { $0.addressPolicy = newValue } }
    }
    /// The proxy; ``Proxy/Configuration/none`` connects without a proxy.
    public var proxy: Proxy.Configuration? {
        get { storage?.values.proxy }
        set { change { $0.proxy = newValue } }
    }
    /// The size of the buffer for reading from the socket.
    public var readBufferSize: ByteSize? {
        get { storage?.values.readBufferSize }
        set { change { $0.readBufferSize = newValue } }
    }
    /// The most bytes of a body that may wait for its reader before the transfer pauses.
    public var bodyBufferSize: ByteSize? {
        get { storage?.values.bodyBufferSize }
        set { change { $0.bodyBufferSize = newValue } }
    }
    /// The limits of the flow of the request's and the response's bodies; see ``TaskActor/setRateLimit(_:)``. Each task
    /// of the call, as after a redirect, has the limit for itself.
    public var rateLimit: RateLimit? {
        get { storage?.values.rateLimit }
        set { change { $0.rateLimit = newValue } }
    }
    /// The longest wait for permission to send the body, with `Expect: 100-continue` (RFC 9110 §10.1.1).
    /// nil, the default, sends the body at once; zero or less fails with ``ErrorCode/invalidRequest``.
    public var expectContinue: Duration? {
        get { storage?.values.expectContinue }
        set { change { $0.expectContinue = newValue } }
    }
    /// A label for the task, reported in ``TaskActor/tag`` and in events.
    public var tag: String? {
        get { storage?.values.tag }
        set { change { $0.tag = newValue } }
    }
    /// True if two requests have the same effect as one. nil, the default, uses the rule for the method (RFC 9110
    /// §9.2.2). ``Retry``, ``Hedging`` and the transport send only such requests again.
    public var isIdempotent: Bool? {
        get { storage?.values.isIdempotent }
        set { change { $0.isIdempotent = newValue } }
    }
    /// Further fields that contain secrets. Some fields are secret by their names, such as Authorization, Cookie and
    /// Private-Token.
    ///
    /// Secret fields are masked in logs, removed when a redirect leads to another origin, and treated as credentials by
    /// an ``HTTPCache``.
    public var secretFields: Set<HTTPField.Name> {
        get { storage?.values.secretFields ?? [] }
        set { change { $0.secretFields = newValue } }
    }
    /// The credential for a scheme that the engine performs by itself.
    package var engineCredential: EngineCredential? {
        get { storage?.values.engineCredential }
        set { change { $0.engineCredential = newValue } }
    }
    /// nil if no option is set, as in most requests: each link copies the options with the request.
    private var storage: Storage?

    public init() {}

    /// Options in one line; an omitted option is nil.
    ///
    /// ```swift
    /// let response = try await api.get("report", options: RequestOptions(totalTimeout: .seconds(5), tag: "report"))
    /// ```
    ///
    /// Options of links, which are declared elsewhere, follow with ``setting(_:to:)``.
    public init(
        connectionWaitTimeout: Duration? = nil,
        connectTimeout: Duration? = nil,
        headTimeout: Duration? = nil,
        idleTimeout: Duration? = nil,
        totalTimeout: Duration? = nil,
        versionPolicy: HTTPVersionPolicy? = nil,
        route: ConnectionRoute? = nil,
        addressPolicy: AddressPolicy? = nil,
        proxy: Proxy.Configuration? = nil,
        readBufferSize: ByteSize? = nil,
        bodyBufferSize: ByteSize? = nil,
        rateLimit: RateLimit? = nil,
        expectContinue: Duration? = nil,
        tag: String? = nil,
        isIdempotent: Bool? = nil,
        secretFields: Set<HTTPField.Name> = []
    ) {
        let values = Values(
            connectionWaitTimeout: connectionWaitTimeout, connectTimeout: connectTimeout, headTimeout: headTimeout,
            idleTimeout: idleTimeout, totalTimeout: totalTimeout, versionPolicy: versionPolicy, route: route,
            addressPolicy: addressPolicy, proxy: proxy, readBufferSize: readBufferSize, bodyBufferSize: bodyBufferSize,
            rateLimit: rateLimit, expectContinue: expectContinue, tag: tag, isIdempotent: isIdempotent,
            secretFields: secretFields)
        if values.isSet { storage = Storage(values) }
    }

    /// The same options with another value for one of them, such as an option of a link.
    ///
    /// ```swift
    /// let options = RequestOptions(totalTimeout: .seconds(5)).setting(\.decodesContent, to: false)
    /// ```
    public func setting<Value>(_ option: WritableKeyPath<RequestOptions, Value>, to value: Value) -> RequestOptions {
        var copy = self
        copy[keyPath: option] = value
        return copy
    }

    private mutating func change(_ change: (inout Values) -> Void) {
        if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage?.values ?? Values()) }
        if let storage { change(&storage.values) }
    }

    private struct Values: Sendable {
        var connectionWaitTimeout: Duration?
        var connectTimeout: Duration?
        var headTimeout: Duration?
        var idleTimeout: Duration?
        var totalTimeout: Duration?
        var versionPolicy: HTTPVersionPolicy?
        var route: ConnectionRoute?
        var addressPolicy: AddressPolicy?
        var proxy: Proxy.Configuration?
        var readBufferSize: ByteSize?
        var bodyBufferSize: ByteSize?
        var rateLimit: RateLimit?
        var expectContinue: Duration?
        var tag: String?
        var isIdempotent: Bool?
        var secretFields: Set<HTTPField.Name> = []
        var engineCredential: EngineCredential?
        var keyed = KeyedValues()
        var isResponseAffected = false
        /// The keys of Curlew's own that were set and affect the response.
        var sourceKeys: [any SourceKey.Type] = []
        var hasForeignKeys = false

        /// True if an option is set that the initializer takes.
        var isSet: Bool {
            connectionWaitTimeout != nil || connectTimeout != nil || headTimeout != nil || idleTimeout != nil
                || totalTimeout != nil || versionPolicy != nil || route != nil || addressPolicy != nil || proxy != nil
                || readBufferSize != nil || bodyBufferSize != nil || rateLimit != nil || expectContinue != nil
                || tag != nil || isIdempotent != nil || !secretFields.isEmpty
        }
    }

    /// `@unchecked Sendable`: the storage is written only while a single value refers to it (copy on write).
    private final class Storage: @unchecked Sendable {
        @exclusivity(unchecked) var values: Values

        init(_ values: Values) { self.values = values }
    }
}

extension RequestOptions {
    /// True if any option was ever set.
    package var isAnySet: Bool { storage != nil }
}

extension RequestOptions {
    /// The time limits of the request, completed by those of the session.
    func timeouts(_ defaults: Timeouts) -> Timeouts {
        guard isAnySet else { return defaults }
        var timeouts = defaults
        if let connectTimeout { timeouts.connect = connectTimeout }
        if let idleTimeout { timeouts.idle = idleTimeout }
        if let totalTimeout {
            // The deadline of the surrounding calls does not extend the session's limit.
            timeouts.total = deadline?.setsTotal == true ? min(timeouts.total, totalTimeout) : totalTimeout
        }
        if let attemptTimeout { timeouts.total = min(timeouts.total, attemptTimeout) }
        if let connectionWaitTimeout { timeouts.connectionWait = connectionWaitTimeout }
        if let headTimeout { timeouts.head = headTimeout }
        return timeouts
    }

    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` for a time that is zero or negative.
    func checkDurations() throws {
        guard isAnySet else { return }
        try Timeouts.check(connectTimeout, "connectTimeout")
        try Timeouts.check(idleTimeout, "idleTimeout")
        try Timeouts.check(totalTimeout, "totalTimeout")
        try Timeouts.check(attemptTimeout, "attemptTimeout")
        try Timeouts.check(expectContinue, "expectContinue")
        try Timeouts.check(connectionWaitTimeout, "connectionWaitTimeout")
        try Timeouts.check(headTimeout, "headTimeout")
    }
}

extension RequestOptions {
    private enum AttemptTimeoutKey: Key {
        static let defaultValue: Duration? = nil
        static let affectsResponse = false
    }

    /// The longest time of each attempt, from the start of its task to its last byte. nil, the default, is
    /// ``Timeouts/total`` of the session.
    ///
    /// After this time ``Retry`` sends the request again, as after any ``ErrorCode/totalTimeout`` within
    /// ``totalTimeout``.
    public var attemptTimeout: Duration? {
        get { self[AttemptTimeoutKey.self] }
        set { self[AttemptTimeoutKey.self] = newValue }
    }
}

extension RequestOptions.Key {
    public static var affectsResponse: Bool { true }
}

extension RequestOptions {
    /// The key of an option that code outside Curlew's core reads: usually a link of your own.
    ///
    /// ```swift
    /// extension RequestOptions {
    ///     private enum TenantKey: Key { static let defaultValue: String? = nil }
    ///
    ///     /// The tenant that the link `Tenancy` asks for.
    ///     var tenant: String? {
    ///         get { self[TenantKey.self] }
    ///         set { self[TenantKey.self] = newValue }
    ///     }
    /// }
    /// ```
    public protocol Key {
        associatedtype Value: Sendable
        /// The value of an option that is not set.
        static var defaultValue: Value { get }
        /// True if the option may change the response; true by default.
        ///
        /// False means that equal requests with different values of the option get the same response, as with an option
        /// that only a log reads. ``Coalescing`` then joins such requests, and an ``HTTPCache`` gives them the same
        /// stored response. True means that the request is sent alone. It then bypasses a cache, unless its
        /// ``RequestOptions/cachePartition`` names the owner of the response.
        static var affectsResponse: Bool { get }
    }

    /// The option under a key.
    public subscript<K: Key>(key: K.Type) -> K.Value {
        get { storage?.values.keyed[ObjectIdentifier(key), as: K.Value.self] ?? K.defaultValue }
        set {
            change {
                $0.keyed[ObjectIdentifier(key), as: K.Value.self] = newValue
                guard K.affectsResponse else { return }
                $0.isResponseAffected = true
                if let own = key as? any SourceKey.Type {
                    if !$0.sourceKeys.contains(where: { $0 == own }) { $0.sourceKeys.append(own) }
                } else {
                    $0.hasForeignKeys = true
                }
            }
        }
    }

    /// True if a keyed option was set that may change the response.
    package var isResponseAffected: Bool { storage?.values.isResponseAffected ?? false }

    /// True if such an option belongs to another module, so that its effect is unknown.
    var hasForeignKeys: Bool { storage?.values.hasForeignKeys ?? false }

    /// The text of the keyed options that select another source of the response; nil without such options.
    /// - Throws: The error of an option that cannot be written as text.
    func sourceText() throws -> String? {
        var text: String?
        for key in storage?.values.sourceKeys ?? [] {
            if let words = try words(of: key) { text = (text ?? "") + words }
        }
        return text
    }

    private func words<K: SourceKey>(of key: K.Type) throws -> String? { try K.sourceText(self[key]) }
}

extension RequestOptions {
    private enum QueriesKey: Key {
        static let defaultValue = false
        static let affectsResponse = false
    }

    /// True if texts made from a request may contain the query of its URI. False by default, because a query may
    /// contain tokens and signatures; `***` replaces it (`REDACTED` in spans).
    ///
    /// The texts are the descriptions of errors, the lines of ``RequestLogging``, the spans of `RequestTracing` and
    /// ``CurlewRequest/curlCommand(maskingSecrets:)``.
    ///
    /// A first link sets it for all requests of a session, for example during debugging:
    ///
    /// ```swift
    /// let api = try HTTPSession(baseURL: "https://api.example.com/") {
    ///     Link { request, next in
    ///         var request = request
    ///         request.options.showsQueries = true
    ///         return try await next(request)
    ///     }
    ///     RequestLogging()
    /// }
    /// ```
    public var showsQueries: Bool {
        get { self[QueriesKey.self] }
        set { self[QueriesKey.self] = newValue }
    }
}
