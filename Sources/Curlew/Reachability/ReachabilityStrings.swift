/// The words for a ``ReachabilityStatus``, to be put into another language.
///
/// ```swift
/// var german = ReachabilityStrings()
/// german.notReachable = "Nicht erreichbar"
/// label.text = status.localizedDescription(german)
/// ```
public struct ReachabilityStrings: Sendable, Hashable {
    /// For ``ReachabilityStatus/unknown``.
    public var unknown = "Unknown"
    /// For ``ReachabilityStatus/notReachable``.
    public var notReachable = "Not Reachable"
    /// For each kind of interface.
    public var reachable: [InterfaceKind: String] = [
        .wired: "Reachable via Ethernet", .wifi: "Reachable via WiFi", .cellular: "Reachable via WWAN",
        .loopback: "Reachable on this machine",
    ]
    /// For kinds that ``reachable`` does not have.
    public var reachableOtherwise = "Reachable"

    /// AFNetworking's words, and others like them for what it does not know.
    public init() {}
}

extension ReachabilityStatus {
    /// The status in words for people.
    public func localizedDescription(_ strings: ReachabilityStrings = ReachabilityStrings()) -> String {
        switch self {
        case .unknown: strings.unknown
        case .notReachable: strings.notReachable
        case .reachable(let path): strings.reachable[path.kind] ?? strings.reachableOtherwise
        }
    }
}
