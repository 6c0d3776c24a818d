/// A text and its tokens. The token of an array or object is followed by those of all that stands in it; that of a member's name
/// by its value's. The token at 0 is a null that is not in the text, the root is at 1.
///
/// They are raw memory because the text is read in words of eight bytes and tokens without a check of bounds. It belongs to a
/// ``JSONTapeParser`` and then to a ``JSONTape``, which nothing leaves: containers and decoders hold the decoding, and that the
/// tape.
struct JSONTokens {
    typealias Place = JSONTape.Place

    /// The bytes, and ``JSONTape/padding`` zeros behind them.
    let text: UnsafeMutablePointer<UInt8>
    private(set) var list: UnsafeMutablePointer<JSONToken>
    private(set) var count = 0
    private var capacity: Int

    init(_ utf8: [UInt8]) {
        text = .allocate(capacity: utf8.count + JSONTape.padding)
        let text = text
        utf8.withUnsafeBufferPointer { bytes in
            if let first = bytes.baseAddress { text.initialize(from: first, count: bytes.count) }
        }
        (text + utf8.count).initialize(repeating: 0, count: JSONTape.padding)
        capacity = utf8.count / 6 + 16
        list = .allocate(capacity: capacity)
    }

    func deallocate() {
        text.deallocate()
        list.deallocate()
    }

    subscript(place: Place) -> JSONToken {
        @inline(__always) get { list[Int(place)] }
        @inline(__always) nonmutating _modify { yield &list[Int(place)] }
    }

    @inline(__always)
    mutating func append(_ token: JSONToken) {
        if count == capacity { grow() }
        (list + count).initialize(to: token)
        count += 1
    }

    mutating func removeLast() { count -= 1 }

    private mutating func grow() {
        let larger = UnsafeMutablePointer<JSONToken>.allocate(capacity: capacity * 2)
        larger.moveInitialize(from: list, count: count)
        list.deallocate()
        list = larger
        capacity *= 2
    }

    /// The place after a value and all that stands in it.
    @inline(__always)
    func after(_ place: Place) -> Place {
        let token = self[place]
        return token.isContainer ? token.next : place + 1
    }

    /// Calls `body` with each member that counts: the place of its name, that of its value is the next.
    @inline(__always)
    func forEachMember<Failure: Error>(of object: Place, _ body: (Place) throws(Failure) -> Void) throws(Failure) {
        var place = object + 1
        let end = self[object].next
        while place < end {
            if !self[place].flags.contains(.passedOver) { try body(place) }
            place = after(place + 1)
        }
    }

    /// The bytes of a string or name.
    @inline(__always)
    func bytes(at place: Place) -> UnsafeBufferPointer<UInt8> {
        let token = self[place]
        return UnsafeBufferPointer(start: text + Int(token.offset), count: Int(token.length))
    }

    /// True if the name at a place has these bytes.
    @inline(__always)
    func has(_ name: UnsafeBufferPointer<UInt8>, at place: Place) -> Bool {
        let token = self[place]
        guard Int(token.length) == name.count else { return false }
        // Words of eight bytes, of which the last may lie over the one before; a call of memcmp takes longer for most names.
        let own = UnsafeRawBufferPointer(start: text + Int(token.offset), count: name.count)
        let other = UnsafeRawBufferPointer(name)
        func agree<Word: FixedWidthInteger & BitwiseCopyable>(_ type: Word.Type) -> Bool {
            let size = MemoryLayout<Word>.size
            var start = 0
            while start < name.count - size {
                guard
                    own.loadUnaligned(fromByteOffset: start, as: type)
                        == other.loadUnaligned(fromByteOffset: start, as: type)
                else { return false }
                start += size
            }
            let last = name.count - size
            return own.loadUnaligned(fromByteOffset: last, as: type)
                == other.loadUnaligned(fromByteOffset: last, as: type)
        }
        if name.count >= 8 { return agree(UInt64.self) }
        if name.count >= 4 { return agree(UInt32.self) }
        return name.isEmpty || agree(UInt8.self)
    }

    /// Replaces the bytes of a name by what they stand for, which is never longer.
    func unescapeName(at place: Place) {
        let name = bytes(at: place)
        self[place].length = UInt32(JSONEscapes.resolve(name, into: UnsafeMutableBufferPointer(mutating: name)))
    }
}
