#if TestKit
extension Fault {
    /// True if the fault ends its exchange, or its connection for a fault of connections.
    var isEnding: Bool {
        switch self.effect.kind {
        case .goAway: false
        case .garbage: self.trigger != .atResponseEnd
        case .close, .reset, .halfClose, .stall, .resetStream, .truncate: true
        }
    }
}

extension Fault.Effect {
    /// True if the effect is a frame of HTTP/2.
    var needsHTTP2: Bool {
        switch self.kind {
        case .goAway, .resetStream: true
        case .close, .reset, .halfClose, .stall, .garbage, .truncate: false
        }
    }
}

extension Fault.Target {
    /// True if the fault is used up after one exchange or connection.
    var isOnce: Bool {
        switch self.kind {
        case .next, .exchange, .exchangeOn: true
        case .connection, .every: false
        }
    }

    /// True if the target is an exchange, which a fault of connections can never hit.
    var isOfExchange: Bool {
        switch self.kind {
        case .exchange, .exchangeOn: true
        case .next, .connection, .every: false
        }
    }
}
#endif
