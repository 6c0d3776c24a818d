/// A JSON text as a list of tokens in the order of the text: one pass checks it against RFC 8259 and the rules of reading,
/// and whatever is made of it afterwards reads the tokens.
///
/// A tape belongs to one decoding: looking for members moves the places in it from which the next search starts.
final class JSONTape {
    /// The place of a token.
    typealias Place = UInt32

    static let missing: Place = 0
    static let root: Place = 1

    /// The zeros behind the text, so that a word can be read from each of its bytes.
    static let padding = 32
    /// The longest text in bytes: places and lengths have 32 bits.
    static let longest = Int(UInt32.max) - 2 * padding

    let tokens: JSONTokens
    let outOfRange: JSONCoding.ReadingOptions.OutOfRangeNumbers
    /// The names of the members of large objects.
    private let indexes: [Place: JSONNameIndex]
    /// The places of the elements of long arrays, for those whose number was asked for.
    private var elements: [Place: [Place]] = [:]

    /// - Parameter utf8: A text of valid UTF-8.
    /// - Throws: ``JSONCoding/Failure`` with ``JSONCoding/Failure/Code/decodingFailed`` that says where the text goes wrong, and nothing of what
    ///   it says.
    init(_ utf8: [UInt8], options: JSONCoding.ReadingOptions) throws {
        guard utf8.count <= Self.longest else { throw JSONCoding.Failure(reading: "the text is longer than 4 GiB") }
        outOfRange = options.outOfRange
        var parser = JSONTapeParser(utf8, options: options)
        do throws(JSONFault) { try parser.parse() } catch {
            parser.tokens.deallocate()
            throw error.error(in: utf8)
        }
        tokens = parser.tokens
        indexes = parser.indexes
    }

    deinit { tokens.deallocate() }

    /// The place of a member's value; ``missing`` if there is no such member. Members that are asked for in their order are
    /// found at once.
    @inline(__always)
    func value(of name: UnsafeBufferPointer<UInt8>, in object: Place) -> Place {
        let header = tokens[object]
        let guess = header.cursor
        if guess < header.next, tokens.has(name, at: guess), !tokens[guess].flags.contains(.passedOver) {
            tokens[object].cursor = tokens.after(guess + 1)
            return guess + 1
        }
        return search(name, in: object)
    }

    private func search(_ name: UnsafeBufferPointer<UInt8>, in object: Place) -> Place {
        let header = tokens[object]
        var found: Place?
        if header.flags.contains(.indexed), let index = indexes[object] {
            found = index.place(of: name, in: tokens)
            if let place = found, tokens[place].flags.contains(.passedOver) { found = nil }
        } else {
            found =
                search(name, from: header.cursor, to: header.next) ?? search(name, from: object + 1, to: header.cursor)
        }
        guard let found else { return Self.missing }
        tokens[object].cursor = tokens.after(found + 1)
        return found + 1
    }

    private func search(_ name: UnsafeBufferPointer<UInt8>, from start: Place, to end: Place) -> Place? {
        let identity = JSONToken.identity(of: name)
        var place = start
        while place < end {
            let token = tokens[place]
            if token.body == identity, !token.flags.contains(.passedOver), tokens.has(name, at: place) { return place }
            place = tokens.after(place + 1)
        }
        return nil
    }

    /// The number of an element. Those of long arrays are written down the first time, so that many errors cost no more than
    /// one walk.
    func number(of element: Place, in array: Place) -> Int {
        let list = elements[array] ?? places(in: array)
        if list.count > 64 { elements[array] = list }
        var (low, high) = (0, list.count)
        while low < high {
            let middle = (low + high) / 2
            if list[middle] < element { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private func places(in array: Place) -> [Place] {
        var list: [Place] = []
        var place = array + 1
        while place < tokens[array].next {
            list.append(place)
            place = tokens.after(place)
        }
        return list
    }
}

/// The names of an object with many members. They are found by the standard library's hash, which has a seed of its own in
/// each process, so that nobody can send names that meet.
struct JSONNameIndex {
    private var slots: [JSONTape.Place]

    /// - Parameter members: The most that will be put in.
    init(members: Int) {
        var size = 64
        while size < members * 2 { size *= 2 }
        slots = Array(repeating: JSONTape.missing, count: size)
    }

    /// The place of a name.
    func place(of name: UnsafeBufferPointer<UInt8>, in tokens: JSONTokens) -> JSONTape.Place? {
        let place = slots[slot(of: name, in: tokens)]
        return place == JSONTape.missing ? nil : place
    }

    /// Puts the name at a place in, in the place of another that has the same bytes.
    /// - Returns: The place of that other.
    mutating func put(_ place: JSONTape.Place, in tokens: JSONTokens) -> JSONTape.Place? {
        let slot = slot(of: tokens.bytes(at: place), in: tokens)
        defer { slots[slot] = place }
        return slots[slot] == JSONTape.missing ? nil : slots[slot]
    }

    private func slot(of name: UnsafeBufferPointer<UInt8>, in tokens: JSONTokens) -> Int {
        var hasher = Hasher()
        hasher.combine(bytes: UnsafeRawBufferPointer(name))
        var slot = hasher.finalize() & (slots.count - 1)
        while slots[slot] != JSONTape.missing, !tokens.has(name, at: slots[slot]) {
            slot = (slot + 1) & (slots.count - 1)
        }
        return slot
    }
}
