internal import Glibc

/// A conversion of characters by the C library (iconv), from an encoding to Unicode.
///
/// A table asks it for single characters; no text goes through it. The C library does not say of invalid bytes how many of them are
/// one error, and composes letters and marks in some encodings.
struct SystemConversion: ~Copyable {
    private let descriptor: iconv_t

    /// nil if the C library has no such conversion. Most of them are files, which a small image of a system may lack.
    init?(from name: String) {
        // The C library itself holds these forms, which are the four bytes of a scalar in the order of the machine.
        let target = UInt32(1).littleEndian == 1 ? "UCS-4LE" : "UCS-4BE"
        // The value of an error (iconv_open(3)).
        let failure = iconv_t(bitPattern: -1)
        guard let descriptor = iconv_open(target, name), descriptor != failure else { return nil }
        self.descriptor = descriptor
    }

    deinit { iconv_close(descriptor) }

    /// The most scalars that the bytes of one character stand for.
    private static let scalarLimit = 4

    /// The scalars of one character; empty if the bytes are none.
    func scalars(of bytes: [UInt8]) -> [UInt32] {
        // The state of the character before is dropped.
        _ = iconv(descriptor, nil, nil, nil, nil)
        var scalars = [UInt32](repeating: 0, count: Self.scalarLimit)
        var input = bytes.map { CChar(bitPattern: $0) }
        let room = input.withUnsafeMutableBufferPointer { input in
            scalars.withUnsafeMutableBytes { convert(input, to: $0) }
        }
        guard let room else { return [] }
        return Array(scalars.prefix(Self.scalarLimit - room / MemoryLayout<UInt32>.size))
    }

    /// - Returns: The bytes of the output that are left; nil if the input is invalid.
    private func convert(_ input: UnsafeMutableBufferPointer<CChar>, to output: UnsafeMutableRawBufferPointer) -> Int? {
        var source = input.baseAddress
        var sourceCount = input.count
        var target = output.baseAddress?.assumingMemoryBound(to: CChar.self)
        var room = output.count
        guard iconv(descriptor, &source, &sourceCount, &target, &room) >= 0, sourceCount == 0 else { return nil }
        // A letter that a mark may follow is held back until the end of the input is known.
        return iconv(descriptor, nil, nil, &target, &room) >= 0 ? room : nil
    }
}
