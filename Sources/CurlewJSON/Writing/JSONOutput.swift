internal import CurlewPlatform
internal import CurlewSupport

/// A growing buffer of JSON text.
///
/// It is raw memory, because an array checks its bounds and its uniqueness at every byte. ``reserve(_:)`` adds room for
/// ``slack`` more bytes than requested, so that text of any length can be stored in whole words. Bytes behind the end
/// are overwritten, or never read. The owner calls ``deallocate()`` once.
struct JSONOutput {
    private(set) var start: UnsafeMutablePointer<UInt8>
    private(set) var count = 0
    private var capacity: Int

    private static let slack = 16

    init(capacity: Int) {
        self.capacity = capacity + Self.slack
        start = .allocate(capacity: self.capacity)
    }

    func deallocate() { start.deallocate() }

    /// Empties the buffer, and reduces a larger capacity to `limit`.
    mutating func removeAll(keeping limit: Int) {
        count = 0
        guard capacity > limit else { return }
        start.deallocate()
        capacity = limit
        start = .allocate(capacity: capacity)
    }

    /// The text so far.
    var bytes: [UInt8] { Array(UnsafeBufferPointer(start: start, count: count)) }

    /// Makes room for `length` bytes behind the end.
    @inline(__always)
    mutating func reserve(_ length: Int) {
        if capacity &- count < length &+ Self.slack { grow(length) }
    }

    @inline(never)
    private mutating func grow(_ length: Int) {
        capacity = max(capacity * 2, count + length + Self.slack)
        let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
        larger.update(from: start, count: count)
        start.deallocate()
        start = larger
    }

    @inline(__always)
    mutating func append(_ byte: UInt8) {
        reserve(1)
        start[count] = byte
        count &+= 1
    }

    /// Appends the first bytes of a word, the lowest first. The buffer must have room for eight bytes.
    @inline(__always)
    mutating func appendReserved(_ word: UInt64, length: Int) {
        Self.store(word, start + count)
        count &+= length
    }

    /// Appends bytes unchanged.
    mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let first = bytes.baseAddress else { return }
        reserve(bytes.count)
        (start + count).update(from: first, count: bytes.count)
        count &+= bytes.count
    }

    /// Appends bytes unchanged.
    mutating func append(_ bytes: [UInt8]) { bytes.withUnsafeBufferPointer { append($0) } }

    /// Appends `true` or `false`.
    mutating func append(_ value: Bool) {
        reserve(8)
        if value {
            appendReserved(0x6575_7274, length: 4)
        } else {
            appendReserved(0x65_736C_6166, length: 5)
        }
    }

    /// Appends `null`.
    mutating func appendNull() {
        reserve(8)
        appendReserved(0x6C6C_756E, length: 4)
    }

    @inline(__always)
    static func load(_ source: UnsafePointer<UInt8>) -> UInt64 {
        UInt64(littleEndian: UnsafeRawPointer(source).loadUnaligned(as: UInt64.self))
    }

    @inline(__always)
    static func store(_ word: UInt64, _ target: UnsafeMutablePointer<UInt8>) {
        UnsafeMutableRawPointer(target).storeBytes(of: word.littleEndian, as: UInt64.self)
    }
}

// MARK: - Strings

extension JSONOutput {
    /// The marks of a string for look-ups. Strings with different marks are different.
    struct Marks {
        /// The first eight bytes. `last` contains the last eight, for strings of at least eight bytes.
        var first: UInt64 = 0
        var last: UInt64 = 0
        /// True if the string is ASCII without escapes.
        var isPlain: Bool
    }

    /// Appends a string in quotation marks. Quotation marks, backslashes and control characters are escaped, and
    /// slashes if `escapingSlashes` is true.
    @discardableResult
    @inline(__always)
    mutating func append(_ string: String, escapingSlashes: Bool) -> Marks {
        var string = string
        return string.withUTF8 { appendQuoted($0, escapingSlashes) }
    }

    private mutating func appendQuoted(_ bytes: UnsafeBufferPointer<UInt8>, _ escapingSlashes: Bool) -> Marks {
        let escapes = Escapes(slashes: escapingSlashes)
        let length = bytes.count
        reserve(length &+ 2)
        let target = start + count
        target[0] = .quote
        guard let source = bytes.baseAddress, length > 0 else {
            target[1] = .quote
            count &+= 2
            return Marks(isPlain: true)
        }
        var marks = Marks(isPlain: true)
        var all: UInt64 = 0
        if length < 8 {
            marks.first = Self.shortWord(source, length)
            // Spaces replace the missing bytes, which would be control characters.
            guard escapes.isPlain(marks.first | 0x2020_2020_2020_2020 << UInt64(truncatingIfNeeded: length &* 8)) else {
                return appendEscaping(bytes, escapes)
            }
            Self.store(marks.first, target + 1)
            all = marks.first
        } else {
            // The last word overlaps the one before it.
            let last = length &- 8
            var position = 0
            while true {
                let word = Self.load(source + position)
                guard escapes.isPlain(word) else { return appendEscaping(bytes, escapes) }
                Self.store(word, target + (position &+ 1))
                all |= word
                if position == last { break }
                position = min(position &+ 8, last)
            }
            marks.first = Self.load(source)
            marks.last = Self.load(source + last)
        }
        target[length &+ 1] = .quote
        count &+= length &+ 2
        marks.isPlain = all & 0x8080_8080_8080_8080 == 0
        return marks
    }

    /// The word of one to seven bytes. Overlapping reads avoid a read behind the end.
    @inline(__always)
    private static func shortWord(_ source: UnsafePointer<UInt8>, _ length: Int) -> UInt64 {
        let end = UnsafeRawPointer(source + length)
        if length >= 4 {
            let head = UInt32(littleEndian: UnsafeRawPointer(source).loadUnaligned(as: UInt32.self))
            let tail = UInt32(littleEndian: (end - 4).loadUnaligned(as: UInt32.self))
            return UInt64(head) | UInt64(tail) << UInt64(truncatingIfNeeded: (length &- 4) &* 8)
        }
        let middle = length / 2
        return UInt64(source[0]) | UInt64(source[middle]) << UInt64(truncatingIfNeeded: middle &* 8)
            | UInt64(source[length &- 1]) << UInt64(truncatingIfNeeded: (length &- 1) &* 8)
    }

    @inline(never)
    private mutating func appendEscaping(_ bytes: UnsafeBufferPointer<UInt8>, _ escapes: Escapes) -> Marks {
        append(.quote)
        var position = 0
        while position < bytes.count {
            let end = escapes.end(ofPlainBytesFrom: position, in: bytes)
            append(UnsafeBufferPointer(rebasing: bytes[position..<end]))
            if end < bytes.count { appendEscape(of: bytes[end]) }
            position = end + 1
        }
        append(.quote)
        return Marks(isPlain: false)
    }

    private mutating func appendEscape(of byte: UInt8) {
        append(.backslash)
        switch byte {
        case 0x08: append(UInt8(ascii: "b"))
        case .tab: append(UInt8(ascii: "t"))
        case .lineFeed: append(UInt8(ascii: "n"))
        case 0x0C: append(UInt8(ascii: "f"))
        case .carriageReturn: append(UInt8(ascii: "r"))
        case 0..<0x20:
            let low = byte & 15
            append(Array("u00".utf8))
            append(UInt8(ascii: "0") + byte >> 4)
            append(low < 10 ? UInt8(ascii: "0") + low : UInt8(ascii: "a") + low - 10)
        default: append(byte)
        }
    }

    /// Finds the bytes of a string that need an escape, eight at a time.
    private struct Escapes {
        private let slash: UInt8

        // Without escaped slashes, the second search is for quotation marks again.
        init(slashes: Bool) { slash = slashes ? .slash : .quote }

        @inline(__always)
        func isPlain(_ word: UInt64) -> Bool {
            // The high bit of a byte of `x - 0x01… & ~x` is set for the lowest byte that is zero. For `x - 0x20… & ~x`
            // it is set for the lowest byte below a space.
            let control = (word &- 0x2020_2020_2020_2020) & ~word
            let found =
                control | Self.zero(word ^ 0x2222_2222_2222_2222) | Self.zero(word ^ 0x5C5C_5C5C_5C5C_5C5C)
                | Self.zero(word ^ (UInt64(slash) &* 0x0101_0101_0101_0101))
            return found & 0x8080_8080_8080_8080 == 0
        }

        @inline(__always)
        private static func zero(_ word: UInt64) -> UInt64 { (word &- 0x0101_0101_0101_0101) & ~word }

        private func isPlain(_ byte: UInt8) -> Bool {
            byte >= 0x20 && byte != .quote && byte != .backslash && byte != slash
        }

        func end(ofPlainBytesFrom position: Int, in bytes: UnsafeBufferPointer<UInt8>) -> Int {
            guard let source = bytes.baseAddress else { return position }
            var end = position
            while end + 8 <= bytes.count, isPlain(JSONOutput.load(source + end)) { end += 8 }
            while end < bytes.count, isPlain(bytes[end]) { end += 1 }
            return end
        }
    }
}
