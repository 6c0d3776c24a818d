#if TestKit
/// Something that goes wrong on purpose: what, and when.
///
///     try server.inject(Fault(.inResponseBody(after: 1000), .reset), at: .next)
///
/// Not every effect can happen at every moment. ``MockServer/inject(_:at:)`` and ``MockProxy/inject(_:at:)`` refuse,
/// with the reason,
/// - a fault of connections at an exchange: when it happens, there is no exchange yet;
/// - GOAWAY and RST_STREAM at a connection's start: there is no exchange yet that they could speak of;
/// - GOAWAY and RST_STREAM where HTTP/2 is not spoken, and so at every proxy;
/// - truncated TLS where there is no TLS, or not yet: that is what ``Effect/close`` does.
public struct Fault: Sendable, Hashable {
    /// When it happens.
    public var trigger: Trigger
    /// What happens.
    public var effect: Effect

    /// Makes a fault.
    public init(_ trigger: Trigger, _ effect: Effect) {
        self.trigger = trigger
        self.effect = effect
    }
}

extension Fault {
    /// The moment of a fault.
    public struct Trigger: Sendable, Hashable {
        enum Kind: Sendable, Hashable {
            case accept, handshake, requestStart, requestBody(Int), responseStart, responseBody(Int), responseEnd
        }

        let kind: Kind

        /// When the connection is accepted; before TLS.
        public static let onAccept = Trigger(kind: .accept)
        /// When TLS is agreed on and before a request is read; in cleartext, without a handshake, the same as
        /// ``onAccept``.
        public static let afterHandshake = Trigger(kind: .handshake)
        /// When the head of a request has been read.
        public static let atRequestStart = Trigger(kind: .requestStart)
        /// When so many bytes of the request's body have been read, or its piece that passes them.
        public static func inRequestBody(after bytes: Int) -> Trigger { Trigger(kind: .requestBody(bytes)) }
        /// When the response is known and nothing of it sent.
        public static let atResponseStart = Trigger(kind: .responseStart)
        /// When exactly so many bytes of the response's body have been sent.
        public static func inResponseBody(after bytes: Int) -> Trigger { Trigger(kind: .responseBody(bytes)) }
        /// When the whole response has been sent.
        public static let atResponseEnd = Trigger(kind: .responseEnd)

        var isOfConnection: Bool { self == .onAccept || self == .afterHandshake }
    }

    /// What happens. Unless said otherwise it ends the exchange, and in HTTP/2 meets the whole connection.
    public struct Effect: Sendable, Hashable {
        enum Kind: Sendable, Hashable {
            case close, reset, halfClose, stall, goAway(UInt32), resetStream(UInt32), garbage([UInt8]), truncate
        }

        let kind: Kind

        /// Closes; with TLS after a close_notify. The kernel resets instead where bytes of the client have not been
        /// read.
        public static let close = Effect(kind: .close)
        /// Sends RST.
        public static let reset = Effect(kind: .reset)
        /// Sends FIN and waits for the client to close.
        public static let halfClose = Effect(kind: .halfClose)
        /// Sends nothing more and waits for the client to close.
        public static let stall = Effect(kind: .stall)
        /// Closes the socket without TLS's close_notify, so that the client finds its stream truncated.
        public static let truncatedTLS = Effect(kind: .truncate)
        /// Sends GOAWAY and continues this exchange and those that run already; HTTP/2 only. Code NO_ERROR is a
        /// server that leaves in good order (RFC 9113, section 6.8).
        public static func goAway(_ code: HTTP2WireFrame.ErrorCode) -> Effect { Effect(kind: .goAway(code.rawValue)) }
        /// Sends RST_STREAM, which ends the exchange and leaves the connection open; HTTP/2 only. After the response's
        /// end it is seen only by a client whose request has not ended.
        public static func resetStream(_ code: HTTP2WireFrame.ErrorCode) -> Effect {
            Effect(kind: .resetStream(code.rawValue))
        }
        /// Sends bytes that are not HTTP, ends its direction, and closes once the client has; after a response's end the connection
        /// stays open.
        public static func garbage(_ bytes: [UInt8]) -> Effect { Effect(kind: .garbage(bytes)) }
    }

    /// Whom a fault meets.
    public struct Target: Sendable, Hashable {
        enum Kind: Sendable, Hashable {
            case next, exchange(Int), exchangeOn(Int, connection: Int), connection(Int), every
        }
        let kind: Kind

        /// The next exchange that begins, or the next connection for a fault of connections; once.
        ///
        /// One that ends whom it meets leaves those that were injected after it to later comers: two of them fail two
        /// attempts.
        public static let next = Target(kind: .next)
        /// The exchange with this number, from 0 over all connections; once.
        public static func exchange(_ number: Int) -> Target { Target(kind: .exchange(number)) }
        /// The exchange with this number, from 0, on the connection with that number, from 0; once.
        public static func exchange(_ number: Int, onConnection index: Int) -> Target {
            Target(kind: .exchangeOn(number, connection: index))
        }
        /// Every exchange of the connection with this number, from 0, or that connection. What is to happen once goes
        /// before it.
        public static func connection(_ index: Int) -> Target { Target(kind: .connection(index)) }
        /// Every exchange or connection from now on. What is to happen once goes before it.
        public static let every = Target(kind: .every)
    }
}
#endif
