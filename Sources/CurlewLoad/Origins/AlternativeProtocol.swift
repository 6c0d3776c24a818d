/// The protocol of an alternative service.
enum AlternativeProtocol: String, Sendable {
    case http11 = "http/1.1"
    case http2 = "h2"
    case http3 = "h3"

    /// The protocol that curl's file names `h1`, `h2` or `h3`.
    init?(fileWord: String) {
        switch fileWord {
        case "h1": self = .http11
        case "h2": self = .http2
        case "h3": self = .http3
        default: return nil
        }
    }

    init(_ version: HTTPProtocolVersion) {
        switch version {
        case .http3: self = .http3
        case .http2: self = .http2
        default: self = .http11
        }
    }

    var fileWord: String {
        switch self {
        case .http11: "h1"
        case .http2: "h2"
        case .http3: "h3"
        }
    }
}
