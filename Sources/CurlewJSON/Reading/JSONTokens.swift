/// A text and its tokens.
///
/// The tokens of the contents follow the token of an array or object. The token of a value follows the token of its
/// member's name. The token at place 0 is a null outside the text; the root is at place 1.
///
/// Both are in raw memory, because the text is read in words of eight bytes, and tokens without bounds checks. The
/// owner of the memory is first a ``JSONTapeParser``, and then a ``JSONTape``, which never gives it away: containers
/// and decoders retain the decoding, and the decoding retains the tape.
struct JSONTokens {
    typealias Place = JSONTape.Place

    /// The bytes, followed by ``JSONTape/padding`` zeros.
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

    /// The place behind a value and its contents.
    @inline(__always)
    func after(_ place: Place) -> Place {
        let token = self[place]
        return token.isContainer ? token.next : place + 1
    }

    /// Calls `body` with the place of the name of each member that is not ignored. The value is at the next place.
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
        // The comparison uses words of eight bytes, of which the last two may overlap. A call of memcmp takes longer
        // for most names.
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

    /// Resolves the escapes of a name in place. The result is never longer.
    func unescapeName(at place: Place) {
        let name = bytes(at: place)
        self[place].length = UInt32(JSONEscapes.resolve(name, into: UnsafeMutableBufferPointer(mutating: name)))
    }
}
