/// What a network interface is. New kinds may be added; keep a `default`.
public struct InterfaceKind: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    /// Ethernet, the virtual one of a container included.
    public static let wired = InterfaceKind(rawValue: "wired")
    /// A wireless network (IEEE 802.11).
    public static let wifi = InterfaceKind(rawValue: "wifi")
    /// A mobile network.
    public static let cellular = InterfaceKind(rawValue: "cellular")
    /// The machine itself.
    public static let loopback = InterfaceKind(rawValue: "loopback")
    /// Anything else: tunnels and VPNs, Bluetooth, what software makes up, and what cannot be told.
    public static let other = InterfaceKind(rawValue: "other")

    public var description: String { rawValue }
}
