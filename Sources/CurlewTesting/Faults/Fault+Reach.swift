#if TestKit
extension Fault {
    /// Whether it ends whom it meets: an exchange, or a connection for a fault of connections.
    var isEnding: Bool {
        switch self.effect.kind {
        case .goAway: false
        case .garbage: self.trigger != .atResponseEnd
        case .close, .reset, .halfClose, .stall, .resetStream, .truncate: true
        }
    }
}

extension Fault.Effect {
    /// Whether it is a frame of HTTP/2.
    var needsHTTP2: Bool {
        switch self.kind {
        case .goAway, .resetStream: true
        case .close, .reset, .halfClose, .stall, .garbage, .truncate: false
        }
    }
}

extension Fault.Target {
    /// Whether it is done with after it has met somebody.
    var isOnce: Bool {
        switch self.kind {
        case .next, .exchange, .exchangeOn: true
        case .connection, .every: false
        }
    }

    /// Whether it names an exchange, which no fault of connections can meet.
    var isOfExchange: Bool {
        switch self.kind {
        case .exchange, .exchangeOn: true
        case .next, .connection, .every: false
        }
    }
}
#endif
