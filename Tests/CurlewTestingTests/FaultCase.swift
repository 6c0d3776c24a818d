import Curlew
import CurlewTesting
import Testing

/// A fault at a kind of server, and its expected effect on a client.
struct FaultCase: Sendable, CustomTestStringConvertible {
    /// The protocol between client and server.
    enum Wire: String, Sendable, CaseIterable {
        case http11 = "HTTP/1.1"
        case http11TLS = "HTTP/1.1 over TLS"
        case http2 = "HTTP/2"
        case http2TLS = "HTTP/2 over TLS"

        var usesTLS: Bool { self == .http11TLS || self == .http2TLS }
        var isHTTP2: Bool { self == .http2 || self == .http2TLS }
    }

    let fault: Fault
    let wire: Wire

    var testDescription: String { "\(self.fault), \(self.wire.rawValue)" }

    static let requestBody = BytePattern.bytes(count: 2000)
    static let responseLength = 1000

    static let triggers: [Fault.Trigger] = [
        .onAccept, .afterHandshake, .atRequestStart, .inRequestBody(after: 500), .atResponseStart,
        .inResponseBody(after: 400), .atResponseEnd,
    ]
    static let effects: [Fault.Effect] = [
        .close, .reset, .halfClose, .stall, .garbage(Array("?!?!?!?!?!".utf8)), .truncatedTLS,
        .goAway(.noError), .resetStream(.cancel),
    ]

    /// Every trigger with every effect over every protocol.
    static let all = Wire.allCases.flatMap { wire in
        triggers.flatMap { trigger in effects.map { FaultCase(fault: Fault(trigger, $0), wire: wire) } }
    }

    /// The possible cases. The behaviour of HTTP/1.1 within an exchange does not depend on TLS, except for truncation.
    static let possible = all.filter { scene in
        guard scene.isPossible else { return false }
        return scene.wire != .http11TLS || scene.isOfConnection || scene.fault.effect == .truncatedTLS
    }

    /// The cases that a server must refuse.
    static let impossible = all.filter { !$0.isPossible }

    var isOfConnection: Bool { self.fault.trigger == .onAccept || self.fault.trigger == .afterHandshake }

    private var isPossible: Bool {
        switch self.fault.effect {
        case .truncatedTLS: self.wire.usesTLS && self.fault.trigger != .onAccept
        case .goAway(.noError), .resetStream(.cancel): self.wire.isHTTP2 && !self.isOfConnection
        default: true
        }
    }

    /// True if the exchange still completes.
    var isSurvived: Bool { self.fault.trigger == .atResponseEnd || self.fault.effect == .goAway(.noError) }

    /// True if an answer may be lost after it was sent completely: over HTTP/2 the client has frames to send, and one
    /// that meets the reset before the answer is read ends it.
    var mayBeLost: Bool {
        guard self.wire.isHTTP2, self.fault.trigger == .atResponseEnd else { return false }
        return switch self.fault.effect {
        case .reset, .close, .halfClose, .truncatedTLS: true
        default: false
        }
    }

    /// True if the client waits until it is cancelled.
    var isSilent: Bool { self.fault.effect == .stall && !self.isSurvived }

    /// The allowed codes of the client's error.
    var codes: Set<ErrorCode> {
        if self.isSilent { return [.cancelled] }
        if self.fault.trigger == .onAccept && self.wire.usesTLS {
            return [.tlsHandshakeFailed, .connectionFailed, .plainTextOnTLSPort]
        }
        let isInBody = self.fault.trigger == .inResponseBody(after: 400) || self.mayBeLost
        // A reset while the client sends is a failure of HTTP/2 for libcurl.
        let lost: Set<ErrorCode> = self.wire.isHTTP2 ? [.connectionLost, .http2Failed] : [.connectionLost]
        switch self.fault.effect {
        // The connection may be gone before the client has checked that it was made.
        case .reset where self.isOfConnection: return lost.union([.connectionFailed])
        case .reset: return isInBody ? lost.union([.responseTruncated]) : lost
        case .resetStream(.cancel): return [.http2Failed]
        // A close becomes a reset if bytes of the client are unread: in HTTP/2 they may be a frame.
        case .close, .halfClose, .truncatedTLS:
            if self.wire.isHTTP2 { return isInBody ? lost.union([.responseTruncated]) : lost }
            return [isInBody ? .responseTruncated : .connectionLost]
        // Garbage within a body of HTTP/1.1 is indistinguishable from content, and the content ends there.
        default:
            if self.wire.isHTTP2 { return [isInBody ? .responseTruncated : .connectionLost, .http2Failed] }
            if isInBody { return [.responseTruncated] }
            // The close after the garbage is a reset if the request is unread, and may hide the sent bytes.
            return self.fault.trigger == .atResponseStart ? [.invalidResponse] : [.invalidResponse, .connectionLost]
        }
    }

    /// The allowed stages of the client's error.
    var stages: Set<CurlewError.Stage> {
        if self.mayBeLost { return [.receiving, .exchanging] }
        if self.fault.trigger == .inResponseBody(after: 400) {
            // A reset may overtake unread bytes that were sent before it.
            let mayOvertake = !self.isSilent && (self.wire.isHTTP2 || self.fault.effect == .reset)
            return mayOvertake ? [.receiving, .exchanging] : [.receiving]
        }
        if self.fault.trigger == .onAccept && self.wire.usesTLS { return [.connecting] }
        return self.isOfConnection ? [.connecting, .exchanging] : [.exchanging]
    }
}
