/// The layout of a binary property list: the positions of its objects, and their references.
private struct BinaryPropertyList {
    /// An object, reduced to its size and references.
    struct Object {
        /// The number of bytes of its own content.
        var size = 0
        /// The byte range of its references.
        var references = 0..<0
        /// The byte range of its references to keys: the first half in a dictionary, empty in every other object.
        var keys = 0..<0
    }

    let bytes: [UInt8]
    let count: Int
    let top: Int
    private let offsetSize: Int
    private let referenceSize: Int
    private let table: Int

    init(_ bytes: [UInt8]) throws {
        guard bytes.count >= 40 else { throw PropertyListCheck.fault("it is cut short") }
        self.bytes = bytes
        let trailer = bytes.count - 32
        offsetSize = Int(bytes[trailer + 6])
        referenceSize = Int(bytes[trailer + 7])
        count = try Self.number(in: bytes, at: trailer + 8, size: 8)
        top = try Self.number(in: bytes, at: trailer + 16, size: 8)
        table = try Self.number(in: bytes, at: trailer + 24, size: 8)
        let isPlausible =
            (1...8).contains(offsetSize) && (1...8).contains(referenceSize) && table >= 8 && table <= trailer
            && count > 0 && count <= (trailer - table) / offsetSize && top < count
        guard isPlausible else { throw PropertyListCheck.fault("its table is broken") }
    }

    /// The object with this number.
    func object(_ index: Int) throws -> Object {
        var position = try markerPosition(of: index)
        let marker = bytes[position]
        position += 1
        switch marker >> 4 {
        case 0: return Object()
        case 1, 2, 3: return Object(size: 1 << (marker & 7))
        case 8: return Object(size: Int(marker & 15) + 1)
        case 4, 5: return try content(marker, &position, unit: 1)
        case 6: return try content(marker, &position, unit: 2)
        case 0xA, 0xB, 0xC: return try container(marker, &position, unit: 1)
        case 0xD:
            var dictionary = try container(marker, &position, unit: 2)
            let references = dictionary.references
            dictionary.keys = references.prefix(references.count / 2)
            return dictionary
        default: throw PropertyListCheck.fault("an object has no known type")
        }
    }

    /// The text of the object with this number; nil if the object is not a string.
    func text(_ index: Int) throws -> String? {
        var position = try markerPosition(of: index)
        let marker = bytes[position]
        position += 1
        switch marker >> 4 {
        case 5:
            let size = try content(marker, &position, unit: 1).size
            return String(decoding: bytes[position..<(position + size)], as: UTF8.self)
        case 6:
            let size = try content(marker, &position, unit: 2).size
            let units = stride(from: position, to: position + size, by: 2).map { place in
                UInt16(bytes[place]) << 8 | UInt16(bytes[place + 1])
            }
            return String(decoding: units, as: UTF16.self)
        default: return nil
        }
    }

    private func markerPosition(of index: Int) throws -> Int {
        let position = try Self.number(in: bytes, at: table + index * offsetSize, size: offsetSize)
        guard position >= 8, position < table else { throw PropertyListCheck.fault("an object is out of range") }
        return position
    }

    /// The number of the object that the reference at `position` names.
    func reference(at position: Int) throws -> Int {
        let index = try Self.number(in: bytes, at: position, size: referenceSize)
        guard index < count else { throw PropertyListCheck.fault("a reference is out of range") }
        return index
    }

    fileprivate var referenceStride: Int { referenceSize }

    private func content(_ marker: UInt8, _ position: inout Int, unit: Int) throws -> Object {
        let length = try self.length(marker, &position)
        guard length <= (table - position) / unit else { throw PropertyListCheck.fault("an object is cut short") }
        return Object(size: length * unit)
    }

    private func container(_ marker: UInt8, _ position: inout Int, unit: Int) throws -> Object {
        let length = try self.length(marker, &position)
        guard length <= (table - position) / (unit * referenceSize) else {
            throw PropertyListCheck.fault("an object is cut short")
        }
        return Object(references: position..<(position + length * unit * referenceSize))
    }

    /// The length of an object, stored in its marker or in an integer after it.
    private func length(_ marker: UInt8, _ position: inout Int) throws -> Int {
        guard marker & 15 == 15 else { return Int(marker & 15) }
        guard position < table, bytes[position] >> 4 == 1, bytes[position] & 15 <= 3 else {
            throw PropertyListCheck.fault("a length is broken")
        }
        let size = 1 << Int(bytes[position] & 15)
        let length = try Self.number(in: bytes, at: position + 1, size: size)
        position += 1 + size
        guard position <= table else { throw PropertyListCheck.fault("a length is broken") }
        return length
    }

    /// Reads a number, the highest byte first.
    private static func number(in bytes: [UInt8], at position: Int, size: Int) throws -> Int {
        guard position >= 0, position <= bytes.count - size else { throw PropertyListCheck.fault("it is cut short") }
        let value = bytes[position..<(position + size)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard let number = Int(exactly: value) else { throw PropertyListCheck.fault("a number is out of range") }
        return number
    }
}

/// Computes the size and the number of values that a binary property list has when all its references are followed.
/// Checks the keys of its dictionaries.
///
/// Each object is visited once, so the time is proportional to the list, whatever its expanded size.
struct BinaryPropertyListWalk {
    /// The result of following all references of an object.
    private struct Expansion {
        /// The size in bytes.
        var size = 0
        /// The number of values; 0 for an unvisited object, -1 for an object that is being visited.
        var values = 0
    }

    /// An object whose references are being followed.
    private struct Frame {
        let index: Int
        var next: Int
        let end: Int
        let keys: Range<Int>
        var expansion = Expansion()
    }

    private let list: BinaryPropertyList
    private let options: PropertyListReadingOptions
    private let valueLimit: Int
    /// The expansions of the finished objects.
    private var expansions: [Expansion]
    private var stack: [Frame] = []

    init(_ bytes: [UInt8], options: PropertyListReadingOptions) throws {
        list = try BinaryPropertyList(bytes)
        self.options = options
        valueLimit = Self.sharedValues + bytes.count
        // `expansions` has an entry for each declared object, so their number is limited before the allocation.
        guard list.count <= options.expandedSize.bytes / Self.objectSize else { throw Self.tooLarge(options) }
        expansions = Array(repeating: Expansion(), count: list.count)
    }

    mutating func run() throws {
        try push(list.top)
        while let frame = stack.last {
            guard frame.next < frame.end else {
                try pop()
                continue
            }
            let child = try list.reference(at: frame.next)
            stack[stack.count - 1].next += list.referenceStride
            switch expansions[child].values {
            case 0: try push(child)
            case -1: throw PropertyListCheck.fault("it refers to itself")
            default: try add(expansions[child])
            }
        }
    }

    private mutating func push(_ index: Int) throws {
        let object = try list.object(index)
        // The values within the deepest container are one level below it.
        guard stack.count <= options.maximumDepth else {
            throw PropertyListCheck.fault("it is nested more than \(options.maximumDepth) deep")
        }
        expansions[index].values = -1
        stack.append(
            Frame(
                index: index, next: object.references.lowerBound, end: object.references.upperBound, keys: object.keys))
        try add(Expansion(size: Self.objectSize + object.size, values: 1))
    }

    private mutating func pop() throws {
        if let keys = stack.last?.keys, !keys.isEmpty { try checkKeys(keys) }
        let frame = stack.removeLast()
        expansions[frame.index] = frame.expansion
        if !stack.isEmpty { try add(frame.expansion) }
    }

    /// Checks the keys of the last dictionary of the stack.
    private mutating func checkKeys(_ references: Range<Int>) throws {
        var names = CanonicalNames()
        var seen: Set<Int> = []
        for position in stride(from: references.lowerBound, to: references.upperBound, by: list.referenceStride) {
            let index = try list.reference(at: position)
            // Foundation reads an object once that is a key twice.
            guard seen.insert(index).inserted, let key = try list.text(index) else { continue }
            try names.insert(key)
            try add(Expansion(values: key.utf8.count / Self.keyPart))
        }
    }

    private mutating func add(_ expansion: Expansion) throws {
        stack[stack.count - 1].expansion.size += expansion.size
        stack[stack.count - 1].expansion.values += expansion.values
        let sum = stack[stack.count - 1].expansion
        guard sum.size <= options.expandedSize.bytes else { throw Self.tooLarge(options) }
        guard sum.values <= valueLimit else {
            throw PropertyListCheck.fault("it would become more than \(valueLimit) values")
        }
    }

    /// The overhead of an object in bytes.
    private static let objectSize = 16
    /// The number of values beyond a value for each byte of the list. A list without shared arrays and dictionaries has
    /// fewer values than bytes.
    private static let sharedValues = 100_000
    /// The bytes of a key that count as a value. Foundation hashes each key again for each of its dictionaries.
    private static let keyPart = 256

    private static func tooLarge(_ options: PropertyListReadingOptions) -> CurlewError {
        PropertyListCheck.fault("it would become larger than \(options.expandedSize.bytes) bytes")
    }
}
