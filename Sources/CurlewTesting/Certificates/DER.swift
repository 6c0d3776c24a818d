#if TestKit
/// A small encoder for DER (X.690).
enum DER {
    /// A value with its one-octet tag and its length.
    static func encode(tag: UInt8, _ contents: [UInt8]) -> [UInt8] {
        [tag] + self.length(contents.count) + contents
    }

    /// A SEQUENCE of encoded values.
    static func sequence(_ elements: [[UInt8]]) -> [UInt8] {
        self.encode(tag: 0x30, Array(elements.joined()))
    }

    /// The length: one octet up to 127, above that the number of octets and the octets (X.690, section 8.1.3).
    private static func length(_ count: Int) -> [UInt8] {
        if count < 0x80 { return [UInt8(count)] }
        var octets: [UInt8] = []
        var rest = count
        while rest > 0 {
            octets.insert(UInt8(truncatingIfNeeded: rest), at: 0)
            rest >>= 8
        }
        return [0x80 | UInt8(octets.count)] + octets
    }
}
#endif
