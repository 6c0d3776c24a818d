#if TestKit
extension Fault: CustomStringConvertible {
    /// The effect and the moment in words: `reset in the response's body after 1000 bytes`.
    public var description: String { "\(self.effect) \(self.trigger)" }
}

extension Fault.Trigger: CustomStringConvertible {
    /// The moment in words.
    public var description: String {
        switch self.kind {
        case .accept: "on accept"
        case .handshake: "after the handshake"
        case .requestStart: "at the request's start"
        case .requestBody(let count): "in the request's body after \(count) bytes"
        case .responseStart: "at the response's start"
        case .responseBody(let count): "in the response's body after \(count) bytes"
        case .responseEnd: "at the response's end"
        }
    }
}

extension Fault.Effect: CustomStringConvertible {
    /// The effect in words.
    public var description: String {
        switch self.kind {
        case .close: "close"
        case .reset: "reset"
        case .halfClose: "half-close"
        case .stall: "stall"
        case .goAway(let code): "GOAWAY \(code)"
        case .resetStream(let code): "RST_STREAM \(code)"
        case .garbage(let bytes): "\(bytes.count) bytes of garbage"
        case .truncate: "truncated TLS"
        }
    }
}
#endif
