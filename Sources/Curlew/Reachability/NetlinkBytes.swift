/// Bytes of the kernel's, read as numbers of the machine's own order, and never beyond their end.
struct NetlinkBytes {
    private let bytes: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    var count: Int { bytes.count }

    /// The number that stands `offset` bytes from the start; nil if it is not there as a whole.
    func number<Number: FixedWidthInteger & UnsignedInteger>(at offset: Int, as type: Number.Type) -> Number? {
        guard let part = part(offset, MemoryLayout<Number>.size) else { return nil }
        #if _endian(big)
        return part.bytes.reduce(0) { $0 << 8 | Number($1) }
        #else
        return part.bytes.reversed().reduce(0) { $0 << 8 | Number($1) }
        #endif
    }

    /// So many bytes from `offset` on; nil if they are not all there.
    func part(_ offset: Int, _ length: Int) -> NetlinkBytes? {
        guard offset >= 0, length >= 0, offset <= bytes.count, length <= bytes.count - offset else { return nil }
        let start = bytes.startIndex + offset
        return NetlinkBytes(bytes[start..<(start + length)])
    }

    /// The whole as an unsigned number of 32 bits.
    var word: UInt32? { number(at: 0, as: UInt32.self) }

    /// The whole as an address of four or sixteen bytes in network order.
    var address: IPAddress? { IPAddress(bytes: bytes) }

    /// The whole up to its first zero as text.
    var text: String { String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self) }

    /// The attributes that stand from `offset` on, by their kind; of several of one kind the last.
    ///
    /// What follows one whose length cannot be right is not read.
    func attributes(from offset: Int) -> [Int: NetlinkBytes] {
        var found: [Int: NetlinkBytes] = [:]
        var position = offset
        while let length = number(at: position, as: UInt16.self), let kind = number(at: position + 2, as: UInt16.self),
            length >= 4, let value = part(position + 4, Int(length) - 4)
        {
            // The two highest bits say how the value is laid out.
            found[Int(kind & 0x3FFF)] = value
            position += Self.aligned(Int(length))
        }
        return found
    }

    /// Messages and attributes begin at multiples of four bytes.
    static func aligned(_ length: Int) -> Int { (length + 3) & ~3 }
}
