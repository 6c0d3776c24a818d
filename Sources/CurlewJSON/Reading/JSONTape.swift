/// A JSON text as a list of tokens in the order of the text. One pass checks the text against RFC 8259 and the reading
/// rules. Values are then read from the tokens.
///
/// A tape belongs to one decoding, because each search for a member changes the start of the next search.
final class JSONTape {
    /// The index of a token.
    typealias Place = UInt32

    static let missing: Place = 0
    static let root: Place = 1

    /// The number of zeros behind the text, so that a word can be read at each byte.
    static let padding = 32
    /// The largest length of a text in bytes, because places and lengths have 32 bits.
    static let longest = Int(UInt32.max) - 2 * padding

    let tokens: JSONTokens
    let outOfRange: JSONCoding.ReadingOptions.OutOfRangeNumbers
    /// The name indexes of large objects.
    private let indexes: [Place: JSONNameIndex]
    /// The places of the elements of long arrays, stored at the first look-up of an element's number.
    private var elements: [Place: [Place]] = [:]

    /// - Parameter utf8: A text of valid UTF-8.
    /// - Throws: ``JSONCoding/Failure`` with ``JSONCoding/Failure/Code/decodingFailed``. It contains the position of
    ///   the error, and no part of the text.
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

    /// The place of a member's value; ``missing`` if the object has no such member. Members that are requested in their
    /// order are found without a search.
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

    /// The number of an element. The places of the elements of long arrays are stored at the first call, so that many
    /// errors require only one walk.
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

/// The names of an object with many members. They are found by the standard library's hash. Its seed differs in each
/// process, so a peer cannot send names with colliding hashes.
struct JSONNameIndex {
    private var slots: [JSONTape.Place]

    /// - Parameter members: The largest number of names.
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

    /// Inserts the name at a place, and replaces an equal name.
    /// - Returns: The place of the replaced name; nil without one.
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
