public import Curlew
internal import FoundationEssentials
internal import HTTPTypes

extension OAuth {
    /// The token endpoint of an authorization server.
    ///
    /// - The URL must use `https`; `http` is only allowed for this machine (RFC 6749 §3.2).
    /// - Redirects are not followed, a response has at most 256 KiB, and each request takes at most 30 seconds.
    /// - A refusal fails with ``Curlew/ErrorCode/tokenRefused``, and the underlying error is an ``OAuth/Failure``, also
    ///   if the server sends the refusal with the status 200. Any other response without a token fails with
    ///   ``Curlew/ErrorCode/invalidToken``.
    /// - Errors and descriptions contain no tokens, secrets or codes.
    ///
    /// ```swift
    /// let client = OAuth.Client("s6BhdRkqt3", .basic(secret: secret))
    /// let endpoint = try OAuth.Endpoint("https://as.example.com/token", client: client)
    /// let token = try await endpoint.token(.clientCredentials(scopes: ["birds"]))
    /// ```
    public struct Endpoint: Sendable {
        /// The URL of the endpoint.
        public private(set) var url: String
        /// The client that requests tokens.
        public let client: Client
        /// The longest time of a request. 30 seconds.
        public var timeout: Duration = .seconds(30)
        private let session: HTTPSession
        private let now: @Sendable () -> Date
        private let clock: any Clock<Duration>

        /// The largest size of a response: 256 KiB.
        static let answerLimit = ByteSize.kibibytes(256)

        /// - Parameters:
        ///   - url: The URL of the endpoint.
        ///   - client: The client that requests tokens.
        ///   - configuration: The settings of connections, such as a proxy.
        ///   - clock: The clock for the waits between the requests of a device.
        /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidURL`` or
        ///   ``Curlew/ErrorCode/unsupportedScheme``, also for `http` to another machine.
        public init(
            _ url: String, client: Client, configuration: SessionConfiguration = SessionConfiguration(),
            clock: any Clock<Duration> = ContinuousClock()
        ) throws {
            try self.init(url, client: client, configuration: configuration, clock: clock, now: { Date() })
        }

        init(
            _ url: String, client: Client, configuration: SessionConfiguration = SessionConfiguration(),
            clock: any Clock<Duration> = ContinuousClock(), now: @escaping @Sendable () -> Date
        ) throws {
            try Self.check(url)
            self.url = url
            self.client = client
            self.clock = clock
            self.now = now
            session = try HTTPSession(configuration: configuration, chain: .bare)
        }

        /// Requests a token.
        /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/tokenRefused``, ``Curlew/ErrorCode/invalidToken``,
        ///   or the error of the connection.
        public func token(_ request: OAuth.Request) async throws -> Token {
            let moment = now()
            let answer = try await send(request)
            do {
                return try JSONDecoder().decode(TokenResponse.self, from: Data(answer.bytes))
                    .token(for: request, requestedAt: moment)
            } catch let error as CurlewError {
                throw error.adding(answer.request)
            } catch {
                throw CurlewError(.invalidToken, "the token endpoint gave no JSON of a token").adding(answer.request)
            }
        }

        /// Revokes a token at the server (RFC 7009).
        /// - Parameters:
        ///   - token: An access token or a refresh token.
        ///   - url: The URL of the server's endpoint for revocation.
        ///   - hint: The type of the token: `access_token` or `refresh_token`.
        /// - Throws: The errors of ``token(_:)``.
        public func revoke(_ token: String, at url: String, hint: String? = nil) async throws {
            _ = try await at(url).send(.revocation(of: token, hint: hint))
        }

        /// Requests a token that a user allows on another device (RFC 8628). The URL of this value is that of the
        /// server's token endpoint.
        ///
        /// The call waits until the user has decided, or until the codes expire.
        /// - Parameters:
        ///   - url: The URL of the server's endpoint for the authorization of devices.
        ///   - scopes: The scopes of the token.
        ///   - show: Shows the user the code and the page to enter it.
        /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/tokenRefused``, whose ``OAuth/Failure/code`` is
        ///   ``OAuth/Failure/Code/accessDenied`` or ``OAuth/Failure/Code/expiredToken``; or the errors of
        ///   ``token(_:)``.
        public func deviceToken(
            authorizedAt url: String, scopes: [String] = [],
            show: @Sendable (DeviceAuthorization) async throws -> Void
        ) async throws -> Token {
            let timekeeper = Timekeeper(clock)
            let answer = try await at(url).send(.deviceAuthorization(scopes: scopes))
            guard let codes = try? JSONDecoder().decode(DeviceAuthorization.self, from: Data(answer.bytes)) else {
                throw CurlewError(.invalidToken, "the endpoint gave no codes for a device").adding(answer.request)
            }
            try await show(codes)
            var machine = DevicePolling(codes)
            var token: Token?
            var action = machine.handle(.started, elapsed: timekeeper.elapsed())
            while let current = action {
                switch current {
                case .wait(let duration):
                    try await timekeeper.sleep(for: duration)
                    action = machine.handle(.waited, elapsed: timekeeper.elapsed())
                case .poll:
                    let event: DevicePolling.Event
                    (event, token) = try await poll(codes)
                    action = machine.handle(event, elapsed: timekeeper.elapsed())
                case .succeed: action = nil
                case .fail(let code): throw Self.refusal(Failure(code: code))
                }
            }
            guard let token else { throw Self.refusal(Failure(code: .expiredToken)) }
            return token
        }

        private func poll(_ codes: DeviceAuthorization) async throws -> (DevicePolling.Event, Token?) {
            do {
                return (.granted, try await token(.deviceToken(codes)))
            } catch let error as CurlewError {
                if let failure = error.underlying as? Failure { return (.refused(failure.code), nil) }
                guard error.isTimeout || error.isTransient else { throw error }
                return (.unanswered, nil)
            }
        }

        /// The same client at another endpoint of the server.
        private func at(_ url: String) throws -> Endpoint {
            try Self.check(url)
            var endpoint = self
            endpoint.url = url
            return endpoint
        }

        private static func check(_ url: String) throws {
            let uri = try CurlewURI(url)
            guard uri.scheme == "https" || ["localhost", "127.0.0.1", "[::1]", "::1"].contains(uri.host) else {
                throw CurlewError(.unsupportedScheme, "secrets are sent to an authorization server over https alone")
            }
        }

        private static func refusal(_ failure: Failure) -> CurlewError {
            CurlewError(.tokenRefused, "\(failure)", underlying: failure)
        }

        // MARK: Sending

        /// Sends a request, and returns the bytes of a successful response.
        private func send(_ request: OAuth.Request) async throws -> (bytes: [UInt8], request: CurlewRequest) {
            var generator = SystemRandomNumberGenerator()
            let form = try client.form(of: request, endpoint: url, at: now(), using: &generator)
            var sent = try CurlewRequest(.post, url, fields: form.fields, body: .bytes(form.body))
            sent.options.totalTimeout = timeout
            // Without TLS a proxy would read the secrets. A server on this machine is reached without one.
            if sent.uri.scheme != "https" { sent.options.proxy = Proxy.Configuration.none }
            let response = try await session.send(sent)
            let bytes: [UInt8]
            do {
                bytes = try await response.body.collect(upTo: Self.answerLimit)
            } catch let error as CurlewError where error.code == .responseTooLarge {
                throw CurlewError(
                    .invalidToken, "the answer of an authorization server has more than 256 KiB", underlying: error
                ).adding(sent)
            }
            // Some servers send a refusal with the status 200.
            if let failure = try? JSONDecoder().decode(FailureResponse.self, from: Data(bytes))
                .failure(masking: form.secrets)
            {
                throw Self.refusal(failure).adding(sent)
            }
            guard (200..<300).contains(response.status.code) else {
                throw CurlewError(
                    .invalidToken, "the authorization server answered with the status \(response.status.code)"
                ).adding(sent)
            }
            return (bytes, sent)
        }
    }
}

extension OAuth.Endpoint: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "OAuth endpoint of the client \(PeerText.escaped(client.identifier, limit: 100))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["client": client.identifier]) }
}
