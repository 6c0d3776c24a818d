#if TestKit
extension Fault {
    /// True if it ends what it meets: an exchange, or a connection for a fault of connections.
    var isEnding: Bool {
        switch self.effect.kind {
        case .goAway: false
        case .garbage: self.trigger != .atResponseEnd
        case .close, .reset, .halfClose, .stall, .resetStream, .truncate: true
        }
    }
}

extension Fault.Effect {
    /// True if it is a frame of HTTP/2.
    var needsHTTP2: Bool {
        switch self.kind {
        case .goAway, .resetStream: true
        case .close, .reset, .halfClose, .stall, .garbage, .truncate: false
        }
    }
}

extension Fault.Target {
    /// True if it is used up once it has met an exchange or a connection.
    var isOnce: Bool {
        switch self.kind {
        case .next, .exchange, .exchangeOn: true
        case .connection, .every: false
        }
    }

    /// True if it names an exchange, which no fault of connections can meet.
    var isOfExchange: Bool {
        switch self.kind {
        case .exchange, .exchangeOn: true
        case .next, .connection, .every: false
        }
    }
}
#endif
