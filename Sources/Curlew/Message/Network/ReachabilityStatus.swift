/// Whether the network can be reached, as far as the machine itself can tell.
///
/// It is a hint and never a gate: what is reachable may not answer, and what is said not to be may answer by the time that
/// it is asked. Send the request; use the status to explain a failure, and to know when to try again.
public enum ReachabilityStatus: Sendable, Hashable {
    /// It cannot be told: the kernel does not say, or the host's name was not resolved though there is a network.
    case unknown
    /// There is no way there: no route, none that may be used, or only by an interface that is down or without a carrier.
    case notReachable
    /// There is a way.
    case reachable(NetworkPath)

    /// Whether there is a way.
    public var isReachable: Bool { path != nil }

    /// The way, if there is one.
    public var path: NetworkPath? {
        if case .reachable(let path) = self { path } else { nil }
    }
}

extension ReachabilityStatus: CustomStringConvertible {
    /// For logs; ``localizedDescription(_:)`` is for people.
    public var description: String {
        switch self {
        case .unknown: "unknown"
        case .notReachable: "not reachable"
        case .reachable(let path): "reachable via \(path)"
        }
    }
}
