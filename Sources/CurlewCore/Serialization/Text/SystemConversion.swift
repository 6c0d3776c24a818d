internal import CurlewPlatform

/// A conversion by the C library (iconv) from an encoding to Unicode.
///
/// Tables use it for single characters; texts are not converted with it. For invalid bytes the C library does not
/// report how many are one error, and in some encodings it composes letters and marks.
struct SystemConversion: ~Copyable {
    private let descriptor: iconv_t

    /// Opens a conversion; nil if the C library does not have it. Most conversions are files, which a small system
    /// image may lack.
    init?(from name: String) {
        // The result has the four bytes of each scalar in the machine's byte order. The C library converts to this
        // encoding without a separate table.
        let target = UInt32(1).littleEndian == 1 ? "UCS-4LE" : "UCS-4BE"
        // iconv_open(3) returns -1 for an error.
        let failure = iconv_t(bitPattern: -1)
        guard let descriptor = iconv_open(target, name), descriptor != failure else { return nil }
        self.descriptor = descriptor
    }

    deinit { iconv_close(descriptor) }

    /// The largest number of scalars for the bytes of one character.
    private static let scalarLimit = 4

    /// The scalars of one character; empty if the bytes are invalid.
    func scalars(of bytes: [UInt8]) -> [UInt32] {
        // Reset the state of the previous character.
        _ = iconv(descriptor, nil, nil, nil, nil)
        var scalars = [UInt32](repeating: 0, count: Self.scalarLimit)
        var input = bytes.map { CChar(bitPattern: $0) }
        let room = input.withUnsafeMutableBufferPointer { input in
            scalars.withUnsafeMutableBytes { convert(input, to: $0) }
        }
        guard let room else { return [] }
        return Array(scalars.prefix(Self.scalarLimit - room / MemoryLayout<UInt32>.size))
    }

    /// - Returns: The number of unused bytes of the output; nil if the input is invalid.
    private func convert(_ input: UnsafeMutableBufferPointer<CChar>, to output: UnsafeMutableRawBufferPointer) -> Int? {
        var source = input.baseAddress
        var sourceCount = input.count
        var target = output.baseAddress?.assumingMemoryBound(to: CChar.self)
        var room = output.count
        guard iconv(descriptor, &source, &sourceCount, &target, &room) >= 0, sourceCount == 0 else { return nil }
        // A letter that a mark may follow is held back until the end of the input.
        return iconv(descriptor, nil, nil, &target, &room) >= 0 ? room : nil
    }
}
