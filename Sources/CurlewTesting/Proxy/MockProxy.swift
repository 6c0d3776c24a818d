#if TestKit
/// A forward proxy for tests: HTTP, SOCKS5 or SOCKS4.
///
/// An HTTP proxy supports CONNECT and absolute-form targets (RFC 9110, section 9.3.6; RFC 9112, section 3.2.2). SOCKS5
/// (RFC 1928) works with or without a user and a password. SOCKS4 also accepts names (4a).
///
///     let proxy = try await MockProxy.start(.init(credentials: .init(user: "u", password: "p")))
///     … a request through proxy.url …
///     let asked = await proxy.takeRequest()
///
/// The proxy connects to loopback servers by IP address. Every name, such as `localhost`, means 127.0.0.1, so that a
/// test can verify that the client left a name to the proxy.
public final class MockProxy: Sendable {
    /// A user name and a password.
    public struct Credentials: Sendable, Hashable {
        /// The user name.
        public var user: String
        /// The password.
        public var password: String

        /// Makes credentials.
        public init(user: String, password: String) {
            self.user = user
            self.password = password
        }
    }

    /// The protocol of a proxy.
    public struct Kind: Sendable, Hashable {
        enum Speech { case http, socks4, socks5 }
        let speech: Speech
        /// HTTP/1.1: CONNECT and absolute form.
        public static let http = Kind(speech: .http)
        /// SOCKS5 (RFC 1928), with user and password as in RFC 1929.
        public static let socks5 = Kind(speech: .socks5)
        /// SOCKS4, and 4a, which leaves names to the proxy. The only credential is a user; the password is ignored.
        public static let socks4 = Kind(speech: .socks4)
    }

    /// The behavior of a proxy.
    public struct Configuration: Sendable {
        /// The protocol; HTTP by default.
        public var kind: Kind
        /// The required credentials; none when `nil`. HTTP demands them with 407 and Basic (RFC 7617).
        public var credentials: Credentials?
        /// The TLS configuration of the proxy itself, for clients that connect to it over HTTPS.
        public var tls: ServerTLS?
        /// The refusal of every request; requests are served when it is `nil`.
        ///
        /// For HTTP this is a status such as 403. For SOCKS it is a reply code: for SOCKS5 such as 2 (RFC 1928, section
        /// 6), for SOCKS4 such as 91.
        public var refusal: Int?

        /// Makes a configuration; each property has its documented default.
        public init(kind: Kind = .http, credentials: Credentials? = nil, tls: ServerTLS? = nil, refusal: Int? = nil) {
            self.kind = kind
            self.credentials = credentials
            self.tls = tls
            self.refusal = refusal
        }
    }

    /// A request to a proxy.
    public struct Request: Sendable, Hashable {
        /// `CONNECT`, another method, `SOCKS4` or `SOCKS5`.
        public var method: String
        /// The destination: `host:port` of a tunnel, or an absolute URL.
        public var target: String
        /// The head of an HTTP request as received; empty for SOCKS.
        public var head: String
        /// The credentials of the request.
        public var credentials: Credentials?
        /// True if the proxy accepted the request.
        public var isAccepted: Bool
        /// The number of the connection, from 0.
        public var connectionIndex: Int
    }

    private let listener: Listener
    private let core: ProxyCore

    private init(listener: Listener, core: ProxyCore) {
        self.listener = listener
        self.core = core
    }

    deinit {
        self.listener.stop()
        self.core.requests.finish()
    }

    /// Starts a proxy on a free port of 127.0.0.1.
    public static func start(_ configuration: Configuration = Configuration()) async throws -> MockProxy {
        let core = ProxyCore(configuration: configuration)
        let listener = try await Listener.start(
            at: .ipv4,
            tls: configuration.tls,
            allowsHalfClosure: true,
            faults: core.faults,
            install: { try BytePort(installingOn: $0.channel) },
            serve: { connection, port in
                await core.serve(connection, RawConnection(connection: connection, port: port))
            }
        )
        let proxy = MockProxy(listener: listener, core: core)
        ServerScope.adopt { await proxy.shutdown() }
        return proxy
    }

    /// The port of the proxy.
    public var port: Int { self.listener.port }

    /// The proxy's URL for clients: `http://127.0.0.1:3128`, `socks4a://127.0.0.1:1080` or `socks5h://127.0.0.1:1080`,
    /// without credentials.
    public var url: String {
        let scheme =
            switch self.core.configuration.kind.speech {
            case .http: self.core.configuration.tls == nil ? "http" : "https"
            case .socks4: "socks4a"
            case .socks5: "socks5h"
            }
        return "\(scheme)://127.0.0.1:\(self.port)"
    }

    /// Returns the next request and waits for it; `nil` when the proxy has ended or the task is cancelled.
    public func takeRequest() async -> Request? {
        await self.core.requests.take()
    }

    /// The requests, oldest first.
    public var requests: AsyncStream<Request> {
        AsyncStream { [requests = self.core.requests] in await requests.take() }
    }

    /// The connection counts so far.
    public var connectionCounts: ConnectionCounts { self.listener.counts }

    /// Returns the counts as soon as they satisfy `condition`.
    @discardableResult
    public func waitForConnections(
        until condition: @escaping @Sendable (ConnectionCounts) -> Bool
    ) async throws -> ConnectionCounts {
        try await self.listener.waitForConnections(until: condition)
    }

    /// Injects a fault: by default at the next exchange or connection.
    ///
    /// An exchange is one request to the proxy:
    /// - The request's start is the moment after the proxy has read the request.
    /// - The response's start is the moment before the proxy answers.
    /// - The response's end is the moment when all bytes have been forwarded or the refusal has been sent.
    /// - The bodies are the bytes in the tunnel: after 0 bytes of the response's body the tunnel has just opened.
    ///
    /// A proxy does not parse the forwarded bytes. For a request in absolute form the response's head therefore counts
    /// as part of the body.
    ///
    /// - Throws: ``TestKitError`` with the reason when the fault can never happen at this proxy; see ``Fault``.
    public func inject(_ fault: Fault, at target: Fault.Target = .next) throws {
        try self.core.faults.inject(fault, at: target)
    }

    /// The faults that have begun or happened, oldest first.
    public var committedFaults: [CommittedFault] { self.core.faults.committed }

    /// Returns when `count` faults have begun or happened.
    public func waitForFaults(_ count: Int) async throws {
        try await self.core.faults.waitForCommitted(count)
    }

    /// Checks that every injected fault has hit an exchange or a connection, and that its moment has come.
    ///
    /// - Throws: ``TestKitError`` that names the remaining faults.
    public func verify() throws {
        let complaints = self.core.faults.complaints
        if !complaints.isEmpty { throw TestKitError(complaints.joined(separator: "; ")) }
    }

    /// Aborts the connections and returns when all is closed.
    public func shutdown() async {
        await self.listener.shutdown()
        self.core.requests.finish()
    }
}
#endif
