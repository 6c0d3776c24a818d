/// A value or a name of a JSON text in 16 bytes.
struct JSONToken {
    enum Kind: UInt8 { case null, no, yes, number, string, array, object }

    struct Flags: OptionSet {
        let rawValue: UInt8

        /// Set for a string with escapes.
        static let escaped = Flags(rawValue: 1)
        /// Set for a string with bytes beyond ASCII.
        static let beyondASCII = Flags(rawValue: 2)
        /// Set for an ignored member: another member has its name, or it is a null that is removed.
        static let passedOver = Flags(rawValue: 4)
        /// Set for an object with an index of its names.
        static let indexed = Flags(rawValue: 8)
        /// Set for a number with a minus sign.
        static let negative = Flags(rawValue: 16)
        /// Set for a number with neither a point nor an exponent.
        static let integer = Flags(rawValue: 32)
        /// Set for a number whose mantissa and exponent represent it exactly.
        static let exact = Flags(rawValue: 64)
    }

    var kind: Kind
    var flags: Flags = []
    /// The power of ten by which the mantissa of a number is multiplied.
    var exponent: Int16 = 0
    /// The position of the first byte of a string or number; the place of the enclosing value of an array or object.
    var offset: UInt32
    /// The data of the kind:
    ///
    /// - number: the digits as an integer;
    /// - string: its length and, for a name, the hash;
    /// - array: the place behind it, and the number of elements;
    /// - object: the place behind it, and the place where the next search for a member starts.
    var body: UInt64 = 0

    init(_ kind: Kind, at offset: UInt32) {
        self.kind = kind
        self.offset = offset
    }

    var isContainer: Bool { kind.rawValue >= Kind.array.rawValue }
    var parent: JSONTape.Place { offset }

    private var low: UInt32 {
        get { UInt32(truncatingIfNeeded: body) }
        set { body = body & ~0xFFFF_FFFF | UInt64(newValue) }
    }
    private var high: UInt32 {
        get { UInt32(truncatingIfNeeded: body >> 32) }
        set { body = body & 0xFFFF_FFFF | UInt64(newValue) << 32 }
    }

    var length: UInt32 {
        get { low }
        set { low = newValue }
    }
    var next: JSONTape.Place {
        get { low }
        set { low = newValue }
    }
    var elementCount: UInt32 {
        get { high }
        set { high = newValue }
    }
    var cursor: JSONTape.Place {
        get { high }
        set { high = newValue }
    }

    /// The ``body`` of a name: its length and hash. The hash is fast, but an attacker can cause collisions. Large
    /// objects use the hash of ``JSONNameIndex`` instead.
    static func identity(of name: UnsafeBufferPointer<UInt8>) -> UInt64 {
        let bytes = UnsafeRawBufferPointer(name)
        var hash: UInt64 = 0x9E37_79B9_7F4A_7C15
        func mix(_ word: UInt64) {
            hash = (hash ^ word) &* 0xD6E8_FEB8_6659_FD93
            hash ^= hash >> 32
        }
        switch bytes.count {
        case 0...3: for byte in bytes { mix(UInt64(byte)) }
        case 4...7:
            let end = bytes.loadUnaligned(fromByteOffset: bytes.count - 4, as: UInt32.self)
            mix(UInt64(bytes.loadUnaligned(as: UInt32.self)) << 32 | UInt64(end))
        default:
            for start in stride(from: 0, to: bytes.count - 8, by: 8) {
                mix(bytes.loadUnaligned(fromByteOffset: start, as: UInt64.self))
            }
            mix(bytes.loadUnaligned(fromByteOffset: bytes.count - 8, as: UInt64.self))
        }
        return (hash ^ hash >> 29) << 32 | UInt64(name.count)
    }
}
