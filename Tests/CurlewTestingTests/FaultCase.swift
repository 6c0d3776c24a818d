import Curlew
import CurlewTesting
import Testing

/// One fault at one kind of server, and what a client must see of it.
struct FaultCase: Sendable, CustomTestStringConvertible {
    /// What client and server speak.
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

    /// Every moment with every effect over every wire.
    static let all = Wire.allCases.flatMap { wire in
        triggers.flatMap { trigger in effects.map { FaultCase(fault: Fault(trigger, $0), wire: wire) } }
    }

    /// Those that can happen. What HTTP/1.1 does inside an exchange does not depend on TLS, truncation excepted.
    static let possible = all.filter { scene in
        guard scene.isPossible else { return false }
        return scene.wire != .http11TLS || scene.isOfConnection || scene.fault.effect == .truncatedTLS
    }

    /// Those that a server must refuse to be told.
    static let impossible = all.filter { !$0.isPossible }

    var isOfConnection: Bool { self.fault.trigger == .onAccept || self.fault.trigger == .afterHandshake }

    private var isPossible: Bool {
        switch self.fault.effect {
        case .truncatedTLS: self.wire.usesTLS && self.fault.trigger != .onAccept
        case .goAway(.noError), .resetStream(.cancel): self.wire.isHTTP2 && !self.isOfConnection
        default: true
        }
    }

    /// Whether the exchange comes to its end all the same.
    var isSurvived: Bool { self.fault.trigger == .atResponseEnd || self.fault.effect == .goAway(.noError) }

    /// Whether an answer that had gone out whole may be lost all the same: over HTTP/2 the client has frames to send, and
    /// one that meets the reset before the answer is read ends it.
    var mayBeLost: Bool {
        guard self.wire.isHTTP2, self.fault.trigger == .atResponseEnd else { return false }
        return switch self.fault.effect {
        case .reset, .close, .halfClose, .truncatedTLS: true
        default: false
        }
    }

    /// Whether the client waits until it is cancelled.
    var isSilent: Bool { self.fault.effect == .stall && !self.isSurvived }

    /// The codes that the client's error may have.
    var codes: Set<ErrorCode> {
        if self.isSilent { return [.cancelled] }
        if self.fault.trigger == .onAccept && self.wire.usesTLS {
            return [.tlsHandshakeFailed, .connectionFailed, .plainTextOnTLSPort]
        }
        let isInBody = self.fault.trigger == .inResponseBody(after: 400) || self.mayBeLost
        // When the reset comes while the client sends, libcurl calls it a failure of HTTP/2.
        let lost: Set<ErrorCode> = self.wire.isHTTP2 ? [.connectionLost, .http2Failed] : [.connectionLost]
        switch self.fault.effect {
        // The connection may be gone before the client has looked whether it was made.
        case .reset where self.isOfConnection: return lost.union([.connectionFailed])
        case .reset: return isInBody ? lost.union([.responseTruncated]) : lost
        case .resetStream(.cancel): return [.http2Failed]
        // A close is a reset where something of the client's has not been read: in HTTP/2 it may be a frame.
        case .close, .halfClose, .truncatedTLS:
            if self.wire.isHTTP2 { return isInBody ? lost.union([.responseTruncated]) : lost }
            return [isInBody ? .responseTruncated : .connectionLost]
        // Garbage. Inside a body of HTTP/1.1 nobody can tell it from content, and then the content ends.
        default:
            if self.wire.isHTTP2 { return [isInBody ? .responseTruncated : .connectionLost, .http2Failed] }
            if isInBody { return [.responseTruncated] }
            // The close after it is a reset where the request has not been read, and may hide what was sent.
            return self.fault.trigger == .atResponseStart ? [.invalidResponse] : [.invalidResponse, .connectionLost]
        }
    }

    /// How far the client may say that it got.
    var stages: Set<CurlewError.Stage> {
        if self.mayBeLost { return [.receiving, .exchanging] }
        if self.fault.trigger == .inResponseBody(after: 400) {
            // A reset may come before what went ahead of it has been read.
            let mayOvertake = !self.isSilent && (self.wire.isHTTP2 || self.fault.effect == .reset)
            return mayOvertake ? [.receiving, .exchanging] : [.receiving]
        }
        if self.fault.trigger == .onAccept && self.wire.usesTLS { return [.connecting] }
        return self.isOfConnection ? [.connecting, .exchanging] : [.exchanging]
    }
}
