/// The protocol of a connection.
enum WireProtocol {
    case http1
    case http2
    case http3

    /// True if a connection carries several exchanges at a time, each as a stream.
    var hasStreams: Bool { self != .http1 }

    /// True if a response of this version belongs to the protocol.
    func sends(_ version: HTTPProtocolVersion) -> Bool {
        switch self {
        case .http1: !version.hasStreams
        case .http2: version == .http2
        case .http3: version == .http3
        }
    }
}
