public import FoundationEssentials

/// Pinned public keys, those kept in reserve, and until when they hold.
public struct PinSet: Sendable, Hashable, Codable {
    /// The keys in use.
    public var pins: [PublicKeyPin]
    /// Keys that are not in use yet, so that the server can change to one without locking its clients out. They are
    /// taken as the others are.
    public var backups: [PublicKeyPin]
    /// From when on the pins are not asked for, so that a client that was never updated is not locked out for good; all
    /// other checks stay. nil, the default: they always are. A policy that also allows invalid certificates accepts
    /// nobody afterwards.
    public var expires: Date?

    public init(_ pins: [PublicKeyPin], backups: [PublicKeyPin] = [], expires: Date? = nil) {
        self.pins = pins
        self.backups = backups
        self.expires = expires
    }

    /// Those in use and those in reserve.
    var all: [PublicKeyPin] { pins + backups }
}
