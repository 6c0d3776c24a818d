#if TestKit
/// A frame of HTTP/2 in its wire format (RFC 9113, section 4), for servers that break the rules on purpose.
///
/// Frames are not validated: a frame may be too long, on a wrong stream or of an unknown type.
public struct HTTP2WireFrame: Sendable, Hashable {
    /// A frame type.
    public struct Kind: RawRepresentable, Sendable, Hashable {
        /// The number on the wire.
        public let rawValue: UInt8
        /// A type by its number, known or unknown.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// DATA.
        public static let data = Kind(rawValue: 0)
        /// HEADERS.
        public static let headers = Kind(rawValue: 1)
        /// PRIORITY.
        public static let priority = Kind(rawValue: 2)
        /// RST_STREAM.
        public static let resetStream = Kind(rawValue: 3)
        /// SETTINGS.
        public static let settings = Kind(rawValue: 4)
        /// PUSH_PROMISE.
        public static let pushPromise = Kind(rawValue: 5)
        /// PING.
        public static let ping = Kind(rawValue: 6)
        /// GOAWAY.
        public static let goAway = Kind(rawValue: 7)
        /// WINDOW_UPDATE.
        public static let windowUpdate = Kind(rawValue: 8)
        /// CONTINUATION.
        public static let continuation = Kind(rawValue: 9)
    }

    /// The flags of a frame.
    public struct Flags: OptionSet, Sendable, Hashable {
        /// The bits on the wire.
        public let rawValue: UInt8
        /// Flags by their bits.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// END_STREAM, of DATA and HEADERS.
        public static let endStream = Flags(rawValue: 0x1)
        /// ACK, of SETTINGS and PING.
        public static let acknowledgement = Flags(rawValue: 0x1)
        /// END_HEADERS, of HEADERS and CONTINUATION.
        public static let endHeaders = Flags(rawValue: 0x4)
        /// PADDED, of DATA and HEADERS.
        public static let padded = Flags(rawValue: 0x8)
        /// PRIORITY, of HEADERS.
        public static let priority = Flags(rawValue: 0x20)
    }

    /// The type of the frame.
    public var kind: Kind
    /// The flags of the frame.
    public var flags: Flags
    /// The stream identifier; 0 is the connection.
    public var stream: UInt32
    /// The bytes after the nine bytes of the frame header.
    public var payload: [UInt8]

    /// Makes a frame of any parts, valid or not.
    public init(kind: Kind, flags: Flags = [], stream: UInt32 = 0, payload: [UInt8] = []) {
        self.kind = kind
        self.flags = flags
        self.stream = stream
        self.payload = payload
    }

    /// The frame's bytes.
    public var bytes: [UInt8] {
        let length = UInt32(truncatingIfNeeded: self.payload.count)
        let head = length.bigEndianBytes.dropFirst() + [self.kind.rawValue, self.flags.rawValue]
        return head + self.stream.bigEndianBytes + self.payload
    }
}

extension UInt32 {
    /// The four bytes, most significant byte first.
    var bigEndianBytes: [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: self >> $0) }
    }

    /// Makes a number of its bytes, most significant byte first.
    init(bigEndian bytes: some Sequence<UInt8>) {
        self = bytes.reduce(0) { $0 << 8 | UInt32($1) }
    }
}
#endif
