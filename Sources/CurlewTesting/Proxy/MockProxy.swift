#if TestKit
/// A forward proxy for tests: HTTP with CONNECT and absolute-form targets (RFC 9110, section 9.3.6; RFC 9112,
/// section 3.2.2), SOCKS5 (RFC 1928), with or without a user and a password, or SOCKS4 with names, 4a.
///
///     let proxy = try await MockProxy.start(.init(credentials: .init(user: "u", password: "p")))
///     … a request through proxy.url …
///     let asked = await proxy.takeRequest()
///
/// It reaches loopback servers by IP address, and `localhost` and every other name as 127.0.0.1, so that a test can
/// see that a name was left to the proxy.
public final class MockProxy: Sendable {
    /// A user and a password.
    public struct Credentials: Sendable, Hashable {
        /// The user.
        public var user: String
        /// The password.
        public var password: String

        /// Makes credentials.
        public init(user: String, password: String) {
            self.user = user
            self.password = password
        }
    }

    /// What a proxy speaks.
    public struct Kind: Sendable, Hashable {
        enum Speech { case http, socks4, socks5 }
        let speech: Speech
        /// HTTP/1.1: CONNECT and absolute form.
        public static let http = Kind(speech: .http)
        /// SOCKS5 (RFC 1928), with user and password as in RFC 1929.
        public static let socks5 = Kind(speech: .socks5)
        /// SOCKS4, and 4a, which leaves names to the proxy. The only credentials are a user; the password does not matter.
        public static let socks4 = Kind(speech: .socks4)
    }

    /// How a proxy behaves.
    public struct Configuration: Sendable {
        /// What it speaks; HTTP by default.
        public var kind: Kind
        /// What it demands; nothing when `nil`. HTTP asks with 407 and Basic (RFC 7617).
        public var credentials: Credentials?
        /// Its own TLS, for clients that reach the proxy itself by HTTPS.
        public var tls: ServerTLS?
        /// The status that every request is answered with, such as 403, or the reply code of SOCKS5, such as 2
        /// (RFC 1928, section 6), or of SOCKS4, such as 91; requests are served when it is `nil`.
        public var refusal: Int?

        /// A configuration with the default that each property names.
        public init(kind: Kind = .http, credentials: Credentials? = nil, tls: ServerTLS? = nil, refusal: Int? = nil) {
            self.kind = kind
            self.credentials = credentials
            self.tls = tls
            self.refusal = refusal
        }
    }

    /// What a proxy was asked.
    public struct Request: Sendable, Hashable {
        /// `CONNECT`, another method, `SOCKS4` or `SOCKS5`.
        public var method: String
        /// Where to: `host:port` of a tunnel, or an absolute URL.
        public var target: String
        /// The head as it came, for HTTP.
        public var head: String
        /// The credentials that came with it.
        public var credentials: Credentials?
        /// True if it was let through.
        public var isAccepted: Bool
        /// The number of its connection, from 0.
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

    /// The port it listens on.
    public var port: Int { self.listener.port }

    /// Its address as clients take it: `http://127.0.0.1:3128`, `socks4a://127.0.0.1:1080` or
    /// `socks5h://127.0.0.1:1080`, without credentials.
    public var url: String {
        let scheme =
            switch self.core.configuration.kind.speech {
            case .http: self.core.configuration.tls == nil ? "http" : "https"
            case .socks4: "socks4a"
            case .socks5: "socks5h"
            }
        return "\(scheme)://127.0.0.1:\(self.port)"
    }

    /// The next thing it was asked; waits for one. `nil` when the proxy has ended or the task is cancelled.
    public func takeRequest() async -> Request? {
        await self.core.requests.take()
    }

    /// What it is asked, oldest first.
    public var requests: AsyncStream<Request> {
        AsyncStream { [requests = self.core.requests] in await requests.take() }
    }

    /// What has been counted so far.
    public var connectionCounts: ConnectionCounts { self.listener.counts }

    /// Returns the counts as soon as they satisfy `condition`.
    @discardableResult
    public func waitForConnections(
        until condition: @escaping @Sendable (ConnectionCounts) -> Bool
    ) async throws -> ConnectionCounts {
        try await self.listener.waitForConnections(until: condition)
    }

    /// Has a fault committed: at the next exchange or connection by default.
    ///
    /// What a proxy is asked is an exchange. The request's start is when it has been read, the response's start when it
    /// is about to be answered, the response's end when all has been carried, or the refusal sent. The bodies are
    /// what a tunnel carries: after 0 bytes of the response's body it has just been made. A proxy does not look into
    /// what it carries, so that the head of a response to a request in absolute form counts.
    ///
    /// - Throws: ``TestKitError`` with the reason when the fault can never happen at this proxy; see ``Fault``.
    public func inject(_ fault: Fault, at target: Fault.Target = .next) throws {
        try self.core.faults.inject(fault, at: target)
    }

    /// The faults that have happened, or happen now, oldest first.
    public var committedFaults: [CommittedFault] { self.core.faults.committed }

    /// Returns when `count` faults have happened or begun to.
    public func waitForFaults(_ count: Int) async throws {
        try await self.core.faults.waitForCommitted(count)
    }

    /// Checks that every fault has met somebody, and that none waited in vain for its moment.
    ///
    /// - Throws: ``TestKitError`` that names what is left.
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
