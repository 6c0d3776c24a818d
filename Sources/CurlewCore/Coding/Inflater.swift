internal import CZlib

/// zlib's decompression of a stream, or of all members of a gzip file. Memory: a window of 32 KiB, and about 8 KiB.
///
/// The stream has memory of its own because zlib stores its address. It is freed with the object.
final class Inflater: ContentDecoder {
    /// The frame around the compressed data.
    enum Format: Int32 {
        /// Members with checksum and length (RFC 1952); names, comments and extra fields are skipped.
        case gzip = 31
        /// zlib's frame (RFC 1950).
        case zlib = 15
        /// Data without a frame (RFC 1951).
        case raw = -15
    }

    private let stream: UnsafeMutablePointer<z_stream>
    private let format: Format
    private(set) var isComplete = false
    /// True if zlib has no further output without input.
    private var isDrained = true
    /// True if zeros have followed the end. Tapes and blocks of a fixed size are padded with zeros, and gzip(1) skips
    /// them.
    private var isPadded = false

    /// - Throws: ``CurlewError`` with ``ErrorCode/resourcesExhausted`` if zlib has no memory.
    init(_ format: Format) throws {
        self.format = format
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        guard curlew_inflate_init(stream, format.rawValue) == Z_OK else {
            throw CurlewError(.resourcesExhausted, "zlib could not be started")
        }
    }

    deinit {
        // `inflateEnd` accepts a stream that was never started: its state is null.
        inflateEnd(stream)
        stream.deallocate()
    }

    func decode(_ input: inout ArraySlice<UInt8>, upTo count: Int) throws -> [UInt8] {
        while !input.isEmpty || !isDrained {
            if isComplete {
                skipPadding(&input)
                guard !input.isEmpty else { break }
                try beginMember(input)
            }
            let output = try step(&input, upTo: count)
            if !output.isEmpty { return output }
        }
        return []
    }

    private func skipPadding(_ input: inout ArraySlice<UInt8>) {
        guard format == .gzip else { return }
        let rest = input.drop { $0 == 0 }
        isPadded = isPadded || rest.count < input.count
        input = rest
    }

    /// Begins a further member of a gzip file. Other formats, and data after padding, are errors.
    private func beginMember(_ input: ArraySlice<UInt8>) throws {
        guard format == .gzip, !isPadded, input.first == 0x1F else { throw CurlewError.trailingContent }
        guard inflateReset(stream) == Z_OK else { throw CurlewError(.resourcesExhausted, "zlib failed") }
        isComplete = false
    }

    private func step(_ input: inout ArraySlice<UInt8>, upTo count: Int) throws -> [UInt8] {
        var status = Z_OK
        var used = 0
        let output = [UInt8](unsafeUninitializedCapacity: count) { target, filled in
            input.withUnsafeBufferPointer { source in
                // zlib does not write to its input, although the pointer allows it. Both pointers are valid during this
                // call only.
                let given = UInt32(min(source.count, Int(UInt32.max)))
                stream.pointee.next_in = UnsafeMutablePointer(mutating: source.baseAddress)
                stream.pointee.avail_in = given
                stream.pointee.next_out = target.baseAddress
                stream.pointee.avail_out = UInt32(target.count)
                status = inflate(stream, Z_NO_FLUSH)
                used = Int(given - stream.pointee.avail_in)
                filled = target.count - Int(stream.pointee.avail_out)
                stream.pointee.next_in = nil
                stream.pointee.next_out = nil
            }
        }
        try check(status, isProgress: used > 0 || !output.isEmpty || input.isEmpty)
        input = input.dropFirst(used)
        isComplete = status == Z_STREAM_END
        isDrained = isComplete || output.count < count
        return output
    }

    /// Missing progress is an error only if there is input.
    private func check(_ status: Int32, isProgress: Bool) throws {
        switch status {
        case Z_OK, Z_STREAM_END: if isProgress { return }
        case Z_BUF_ERROR: if isProgress { return }
        case Z_MEM_ERROR: throw CurlewError(.resourcesExhausted, "zlib has no memory")
        default: break
        }
        throw CurlewError(.contentDecodingFailed, "the body's \(format == .gzip ? "gzip" : "deflate") data is corrupt")
    }
}

extension CurlewError {
    static var trailingContent: CurlewError {
        CurlewError(.contentDecodingFailed, "something follows the end of the coded body")
    }
}

/// The coding that HTTP calls deflate: zlib's format (RFC 1950), or the data without a frame (RFC 1951) that some
/// servers send.
///
/// The first two bytes distinguish them. Data without a frame can only begin like zlib's with a stored block whose
/// padding is not zero, which no compressor writes.
final class DeflateDecoder: ContentDecoder {
    private var inflater: Inflater?
    /// The first byte, until the second arrives.
    private var first: UInt8?

    var isComplete: Bool { inflater?.isComplete ?? false }

    func decode(_ input: inout ArraySlice<UInt8>, upTo count: Int) throws -> [UInt8] {
        if let inflater { return try inflater.decode(&input, upTo: count) }
        if let first {
            guard !input.isEmpty else { return [] }
            input = [first] + input
            self.first = nil
        }
        guard input.count > 1 else {
            first = input.popFirst()
            return []
        }
        let inflater = try Inflater(Self.isZlib(input[input.startIndex], input[input.startIndex + 1]) ? .zlib : .raw)
        self.inflater = inflater
        return try inflater.decode(&input, upTo: count)
    }

    /// True for method 8, a window of at most 32 KiB, and valid check bits (RFC 1950 §2.2).
    private static func isZlib(_ first: UInt8, _ second: UInt8) -> Bool {
        first & 0x0F == 8 && first >> 4 <= 7 && (UInt16(first) << 8 | UInt16(second)) % 31 == 0
    }
}
