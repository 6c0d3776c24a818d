/// A mask of four bytes, and the position in it (RFC 6455 §5.3). It is applied to the pieces of a payload in order, to
/// mask or to unmask them.
struct FrameMask: Hashable {
    /// The mask. Its lowest byte applies to the next byte of the payload.
    private var key: UInt32

    init(_ key: UInt32) { self.key = key }

    /// The four bytes in their order on the wire.
    init(_ first: UInt8, _ second: UInt8, _ third: UInt8, _ fourth: UInt8) {
        key = UInt32(first) | UInt32(second) << 8 | UInt32(third) << 16 | UInt32(fourth) << 24
    }

    func append(to output: inout [UInt8]) {
        for shift in stride(from: 0, to: 32, by: 8) { output.append(UInt8(truncatingIfNeeded: key >> shift)) }
    }

    /// Masks bytes in place, 32 at a time.
    mutating func apply(to bytes: inout MutableRawSpan, in range: Range<Int>) {
        let end = range.upperBound
        let wide = SIMD8<UInt32>(repeating: key.littleEndian)
        var offset = range.lowerBound
        while offset &+ 32 <= end {
            let block = bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: SIMD8<UInt32>.self)
            bytes.storeBytes(of: block ^ wide, toByteOffset: offset, as: SIMD8<UInt32>.self)
            offset &+= 32
        }
        while offset &+ 4 <= end {
            let word = bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt32.self)
            bytes.storeBytes(of: word ^ key.littleEndian, toByteOffset: offset, as: UInt32.self)
            offset &+= 4
        }
        while offset < end {
            let byte = bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
            bytes.storeBytes(of: byte ^ UInt8(truncatingIfNeeded: key), toByteOffset: offset, as: UInt8.self)
            key = key >> 8 | key << 24
            offset &+= 1
        }
    }
}

/// A source of masks from random numbers. An application must not be able to predict them (RFC 6455 §10.3).
struct FrameMaskSource {
    private var random: any RandomNumberGenerator
    /// The second half of the last random number. A single number yields two masks.
    private var spare: UInt32?

    init(_ random: any RandomNumberGenerator) { self.random = random }

    mutating func next() -> FrameMask {
        if let spare {
            self.spare = nil
            return FrameMask(spare)
        }
        let number: UInt64 = random.next()
        spare = UInt32(truncatingIfNeeded: number >> 32)
        return FrameMask(UInt32(truncatingIfNeeded: number))
    }
}
