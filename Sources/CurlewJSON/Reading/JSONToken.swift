/// A value or a name of a JSON text: 16 bytes.
struct JSONToken {
    enum Kind: UInt8 { case null, no, yes, number, string, array, object }

    struct Flags: OptionSet {
        let rawValue: UInt8

        /// A string has escapes.
        static let escaped = Flags(rawValue: 1)
        /// A string has bytes that are not ASCII.
        static let beyondASCII = Flags(rawValue: 2)
        /// A member does not count: another has its name, or it is a null that is to be taken out.
        static let passedOver = Flags(rawValue: 4)
        /// An object has an index of its names.
        static let indexed = Flags(rawValue: 8)
        /// A number has a sign.
        static let negative = Flags(rawValue: 16)
        /// A number has neither a point nor an exponent.
        static let integer = Flags(rawValue: 32)
        /// The mantissa and the exponent of a number are all of it.
        static let exact = Flags(rawValue: 64)
    }

    var kind: Kind
    var flags: Flags = []
    /// Of a number: the power of ten that the mantissa is multiplied by.
    var exponent: Int16 = 0
    /// Of a string or number: its first byte. Of an array or object: the place of that which it stands in.
    var offset: UInt32
    /// Of a number: the digits as an integer. Of a string: its length and, if it is a name, the hash. Of an array or object:
    /// the place behind it, and the number of elements or the place from which members are searched.
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

    /// The length and a hash of a name: what ``body`` is for one. The hash is made to be fast, not to withstand anybody; where
    /// many names meet, ``JSONNameIndex`` has one of its own.
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
