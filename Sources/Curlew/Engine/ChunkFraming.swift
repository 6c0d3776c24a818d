/// Follows the chunked coding of a body (RFC 9112 §7.1) beside libcurl, which skips whatever follows a chunk's size.
///
/// A pure machine over the raw bytes; it keeps nothing of them.
struct ChunkFraming {
    private enum Part {
        case size, beforeExtension, extensionText, sizeEnd
        case data, dataEnd, dataLineFeed
        case afterLast
    }

    private var part = Part.size
    private var size: UInt64 = 0
    private var digits = 0
    private var extensionBytes = 0

    /// Whether the coding was broken.
    private(set) var isBroken = false

    /// Follows so many more bytes as they came from the connection.
    mutating func follow(_ bytes: UnsafeRawBufferPointer) {
        var position = 0
        while position < bytes.count, !isBroken, part != .afterLast {
            if part == .data {
                let taken = min(UInt64(bytes.count - position), size)
                size -= taken
                position += Int(taken)
                if size == 0 { part = .dataEnd }
                continue
            }
            take(bytes[position])
            position += 1
        }
    }

    private mutating func take(_ byte: UInt8) {
        switch part {
        case .size: takeSize(byte)
        case .beforeExtension:
            switch byte {
            case .space, .tab: break
            case UInt8(ascii: ";"): part = .extensionText
            case .carriageReturn: part = .sizeEnd
            default: isBroken = true
            }
        case .extensionText:
            extensionBytes += 1
            if byte == .carriageReturn { part = .sizeEnd }
            if byte == .lineFeed || byte == 0 || extensionBytes > 16_384 { isBroken = true }
        case .sizeEnd:
            guard byte == .lineFeed else { return isBroken = true }
            part = size == 0 ? .afterLast : .data
            digits = 0
            extensionBytes = 0
        case .dataEnd:
            guard byte == .carriageReturn else { return isBroken = true }
            part = .dataLineFeed
        case .dataLineFeed:
            guard byte == .lineFeed else { return isBroken = true }
            part = .size
        case .data, .afterLast: break
        }
    }

    private mutating func takeSize(_ byte: UInt8) {
        if let value = byte.hexValue {
            digits += 1
            guard digits <= 15 else { return isBroken = true }
            size = size << 4 | UInt64(value)
            return
        }
        guard digits > 0 else { return isBroken = true }
        switch byte {
        case .carriageReturn: part = .sizeEnd
        case UInt8(ascii: ";"): part = .extensionText
        case .space, .tab: part = .beforeExtension
        default: isBroken = true
        }
    }
}
