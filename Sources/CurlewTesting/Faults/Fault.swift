#if TestKit
/// A failure that a test server causes on purpose: a moment and an effect.
///
///     try server.inject(Fault(.inResponseBody(after: 1000), .reset), at: .next)
///
/// Some effects cannot happen at some moments. ``MockServer/inject(_:at:)`` and ``MockProxy/inject(_:at:)`` reject the
/// following faults, with the reason:
/// - A fault of connections at an exchange: no exchange exists at that moment.
/// - GOAWAY and RST_STREAM at a connection's start: no exchange exists that they could refer to.
/// - GOAWAY and RST_STREAM on a server without HTTP/2, and therefore on every proxy.
/// - Truncated TLS without TLS or before the handshake: ``Effect/close`` has the same result.
public struct Fault: Sendable, Hashable {
    /// The moment at which the fault happens.
    public var trigger: Trigger
    /// The effect of the fault.
    public var effect: Effect

    /// Makes a fault.
    public init(_ trigger: Trigger, _ effect: Effect) {
        self.trigger = trigger
        self.effect = effect
    }
}

extension Fault {
    /// The moment at which a fault happens.
    public struct Trigger: Sendable, Hashable {
        enum Kind: Sendable, Hashable {
            case accept, handshake, requestStart, requestBody(Int), responseStart, responseBody(Int), responseEnd
        }

        let kind: Kind

        /// The connection has been accepted; TLS has not begun.
        public static let onAccept = Trigger(kind: .accept)
        /// The TLS handshake is complete and no request has been read; in cleartext, without a handshake, the same as
        /// ``onAccept``.
        public static let afterHandshake = Trigger(kind: .handshake)
        /// The head of a request has been read.
        public static let atRequestStart = Trigger(kind: .requestStart)
        /// At least this many bytes of the request's body have been read; the fault follows the piece that reaches the
        /// number.
        public static func inRequestBody(after bytes: Int) -> Trigger { Trigger(kind: .requestBody(bytes)) }
        /// The response is ready and none of it has been sent.
        public static let atResponseStart = Trigger(kind: .responseStart)
        /// Exactly this many bytes of the response's body have been sent.
        public static func inResponseBody(after bytes: Int) -> Trigger { Trigger(kind: .responseBody(bytes)) }
        /// The complete response has been sent.
        public static let atResponseEnd = Trigger(kind: .responseEnd)

        var isOfConnection: Bool { self == .onAccept || self == .afterHandshake }
    }

    /// The effect of a fault. Unless documented otherwise it ends the exchange, and in HTTP/2 affects the connection.
    public struct Effect: Sendable, Hashable {
        enum Kind: Sendable, Hashable {
            case close, reset, halfClose, stall, goAway(UInt32), resetStream(UInt32), garbage([UInt8]), truncate
        }

        let kind: Kind

        /// Closes the connection; over TLS after a close_notify. If bytes of the client are unread, the kernel resets
        /// the connection instead.
        public static let close = Effect(kind: .close)
        /// Resets the connection (RST).
        public static let reset = Effect(kind: .reset)
        /// Sends FIN and waits for the client to close.
        public static let halfClose = Effect(kind: .halfClose)
        /// Sends nothing more and waits for the client to close.
        public static let stall = Effect(kind: .stall)
        /// Closes the socket without TLS's close_notify, so that the client finds its stream truncated.
        public static let truncatedTLS = Effect(kind: .truncate)
        /// Sends GOAWAY and continues this exchange and all others that have begun; HTTP/2 only. The code NO_ERROR
        /// simulates a graceful shutdown (RFC 9113, section 6.8).
        public static func goAway(_ code: HTTP2WireFrame.ErrorCode) -> Effect { Effect(kind: .goAway(code.rawValue)) }
        /// Sends RST_STREAM, which ends the exchange and leaves the connection open; HTTP/2 only. After the response's
        /// end it only affects a client whose request has not ended.
        public static func resetStream(_ code: HTTP2WireFrame.ErrorCode) -> Effect {
            Effect(kind: .resetStream(code.rawValue))
        }
        /// Sends bytes that are not HTTP, half-closes, and closes after the client has closed. After a response's end
        /// the connection stays open.
        public static func garbage(_ bytes: [UInt8]) -> Effect { Effect(kind: .garbage(bytes)) }
    }

    /// The exchange or connection that a fault hits.
    public struct Target: Sendable, Hashable {
        enum Kind: Sendable, Hashable {
            case next, exchange(Int), exchangeOn(Int, connection: Int), connection(Int), every
        }
        let kind: Kind

        /// The next exchange that begins, or the next connection for a fault of connections; once.
        ///
        /// A fault that ends its exchange leaves all such faults that were injected after it for later exchanges: two
        /// of them fail two attempts. The same applies to connections.
        public static let next = Target(kind: .next)
        /// The exchange with this number, counted from 0 over all connections; once.
        public static func exchange(_ number: Int) -> Target { Target(kind: .exchange(number)) }
        /// The exchange with this number, from 0, on the connection with that number, from 0; once.
        public static func exchange(_ number: Int, onConnection index: Int) -> Target {
            Target(kind: .exchangeOn(number, connection: index))
        }
        /// Every exchange of the connection with this number, from 0; for a fault of connections, this connection.
        /// Faults that happen once come before it.
        public static func connection(_ index: Int) -> Target { Target(kind: .connection(index)) }
        /// Every exchange or connection from now on. Faults that happen once come before it.
        public static let every = Target(kind: .every)
    }
}
#endif
