public import HTTPTypes

/// How one request is to be carried. What is nil is taken from the session's configuration.
///
/// A timeout of zero or less is ``ErrorCode/invalidRequest``, before anything is sent; ``Timeouts/unlimited`` is no limit.
///
/// What a link wants to know of a request is an option of the link: ``Key`` declares one.
public struct RequestOptions: Sendable {
    /// The longest time from the start of connecting to a usable connection; see ``Timeouts/connect``.
    public var connectTimeout: Duration?
    /// The longest time without a byte either way; see ``Timeouts/idle``. ``Timeouts/unlimited`` is no limit.
    public var idleTimeout: Duration?
    /// The longest time from start to end; see ``Timeouts/total``.
    ///
    /// Given here it is a deadline over the whole call: ``Redirects`` and ``Retry`` give each further request what is left
    /// of it, and their waits count. The session's own ``Timeouts/total`` holds for each request anew.
    /// ``Timeouts/unlimited`` is no limit, whatever the session's is.
    public var totalTimeout: Duration?
    /// The longest wait for a connection; see ``Timeouts/connectionWait``.
    public var connectionWaitTimeout: Duration? {
        get { rare?.values.connectionWaitTimeout }
        set { change { $0.connectionWaitTimeout = newValue } }
    }
    /// The longest time between the request and the first byte of an answer; see ``Timeouts/head``. Long polls set it.
    public var headTimeout: Duration? {
        get { rare?.values.headTimeout }
        set { change { $0.headTimeout = newValue } }
    }
    /// The versions of HTTP that may be used.
    public var versionPolicy: HTTPVersionPolicy?
    /// Where to connect to, and from where.
    public var route: ConnectionRoute? {
        get { rare?.values.route }
        set { change { $0.route = newValue } }
    }
    /// The addresses that may be connected to.
    public var addressPolicy: AddressPolicy? {
        get { rare?.values.addressPolicy }
        set { change { $0.addressPolicy = newValue } }
    }
    /// The proxy to go through; ``ProxyConfiguration/none`` goes through none.
    public var proxy: ProxyConfiguration? {
        get { rare?.values.proxy }
        set { change { $0.proxy = newValue } }
    }
    /// The size of the buffer that the socket is read into.
    public var readBufferSize: ByteSize?
    /// The most bytes of a body that may wait for its reader before the transfer pauses.
    public var bodyBufferSize: ByteSize?
    /// How fast the bodies of this request and of its response may flow; see ``TaskActor/setRateLimit(_:)``. Each task of the
    /// call, as after a redirect, has the limit for itself.
    public var rateLimit: RateLimit? {
        get { rare?.values.rateLimit }
        set { change { $0.rateLimit = newValue } }
    }
    /// Sends `Expect: 100-continue` and waits so long at most for leave to send the body (RFC 9110 §10.1.1).
    /// nil, the default, sends the body at once; zero and less are ``ErrorCode/invalidRequest``.
    public var expectContinue: Duration?
    /// A word of the caller's for the task, to be found again in ``TaskActor/tag`` and in events.
    public var tag: String? {
        get { rare?.values.tag }
        set { change { $0.tag = newValue } }
    }
    /// True if sending the request twice means the same as sending it once. nil, the default, asks its method
    /// (RFC 9110 §9.2.2). It decides what ``Retry``, ``Hedging`` and the transport itself send again.
    public var isIdempotent: Bool?
    /// Fields with secrets of the caller's, beside those known to be secret, such as Authorization and Cookie: they are
    /// masked in logs, and taken off when a redirect leads to another origin.
    public var secretFields: Set<HTTPField.Name> {
        get { rare?.values.secretFields ?? [] }
        set { change { $0.secretFields = newValue } }
    }
    /// The credential that the engine authenticates with by itself.
    var engineCredential: EngineCredential? {
        get { rare?.values.engineCredential }
        set { change { $0.engineCredential = newValue } }
    }
    /// What few requests have, in one object: options are copied with the request at every link.
    private(set) var rare: Rare?

    public init() {}

    /// Options in one line; what is left out is nil.
    ///
    /// ```swift
    /// let response = try await api.get("report", options: RequestOptions(totalTimeout: .seconds(5), tag: "report"))
    /// ```
    ///
    /// Those of links, which are declared elsewhere, follow with ``setting(_:to:)``.
    public init(
        connectionWaitTimeout: Duration? = nil,
        connectTimeout: Duration? = nil,
        headTimeout: Duration? = nil,
        idleTimeout: Duration? = nil,
        totalTimeout: Duration? = nil,
        versionPolicy: HTTPVersionPolicy? = nil,
        route: ConnectionRoute? = nil,
        addressPolicy: AddressPolicy? = nil,
        proxy: ProxyConfiguration? = nil,
        readBufferSize: ByteSize? = nil,
        bodyBufferSize: ByteSize? = nil,
        rateLimit: RateLimit? = nil,
        expectContinue: Duration? = nil,
        tag: String? = nil,
        isIdempotent: Bool? = nil,
        secretFields: Set<HTTPField.Name> = []
    ) {
        self.connectTimeout = connectTimeout
        self.idleTimeout = idleTimeout
        self.totalTimeout = totalTimeout
        self.versionPolicy = versionPolicy
        self.readBufferSize = readBufferSize
        self.bodyBufferSize = bodyBufferSize
        self.expectContinue = expectContinue
        self.isIdempotent = isIdempotent
        let values = Rare.Values(
            route: route, addressPolicy: addressPolicy, proxy: proxy, tag: tag, secretFields: secretFields,
            rateLimit: rateLimit, connectionWaitTimeout: connectionWaitTimeout, headTimeout: headTimeout)
        if values.isSet { rare = Rare(values) }
    }

    /// The same options, with another value of one of them, such as those of links.
    ///
    /// ```swift
    /// let options = RequestOptions(totalTimeout: .seconds(5)).setting(\.decodesContent, to: false)
    /// ```
    public func setting<Value>(_ option: WritableKeyPath<RequestOptions, Value>, to value: Value) -> RequestOptions {
        var copy = self
        copy[keyPath: option] = value
        return copy
    }

    private mutating func change(_ change: (inout Rare.Values) -> Void) {
        var values = rare?.values ?? Rare.Values()
        change(&values)
        rare = Rare(values)
    }

    /// The options of a request that are large or seldom set.
    final class Rare: Sendable {
        struct Values: Sendable {
            var route: ConnectionRoute?
            var addressPolicy: AddressPolicy?
            var proxy: ProxyConfiguration?
            var tag: String?
            var secretFields: Set<HTTPField.Name> = []
            var engineCredential: EngineCredential?
            var rateLimit: RateLimit?
            var connectionWaitTimeout: Duration?
            var headTimeout: Duration?
            var keyed = KeyedValues()

            /// True if one of them is set that an initializer takes.
            fileprivate var isSet: Bool {
                route != nil || addressPolicy != nil || proxy != nil || tag != nil || !secretFields.isEmpty
                    || rateLimit != nil || connectionWaitTimeout != nil || headTimeout != nil
            }
        }

        let values: Values

        init(_ values: Values) { self.values = values }
    }
}

extension RequestOptions {
    /// The request's own time limits, and for the rest those of the session.
    func timeouts(_ defaults: Timeouts) -> Timeouts {
        var timeouts = defaults
        if let connectTimeout { timeouts.connect = connectTimeout }
        if let idleTimeout { timeouts.idle = idleTimeout }
        if let totalTimeout { timeouts.total = totalTimeout }
        guard rare != nil else { return timeouts }
        if let connectionWaitTimeout { timeouts.connectionWait = connectionWaitTimeout }
        if let headTimeout { timeouts.head = headTimeout }
        return timeouts
    }

    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` for a time that is zero or negative.
    func checkDurations() throws {
        try Timeouts.check(connectTimeout, "connectTimeout")
        try Timeouts.check(idleTimeout, "idleTimeout")
        try Timeouts.check(totalTimeout, "totalTimeout")
        try Timeouts.check(expectContinue, "expectContinue")
        guard rare != nil else { return }
        try Timeouts.check(connectionWaitTimeout, "connectionWaitTimeout")
        try Timeouts.check(headTimeout, "headTimeout")
    }
}

extension RequestOptions {
    /// The key of an option that somebody else than Curlew's core reads: a link of your own, mostly.
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
        /// The value where none was set.
        static var defaultValue: Value { get }
    }

    /// The option under a key.
    public subscript<K: Key>(key: K.Type) -> K.Value {
        get { rare?.values.keyed[ObjectIdentifier(key), as: K.Value.self] ?? K.defaultValue }
        set { change { $0.keyed[ObjectIdentifier(key), as: K.Value.self] = newValue } }
    }
}
