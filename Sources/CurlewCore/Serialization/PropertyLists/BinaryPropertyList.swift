/// The layout of a binary property list: the positions of its objects, and their references.
private struct BinaryPropertyList {
    /// An object, reduced to its size and references.
    struct Object {
        /// The number of bytes of its own content.
        var size = 0
        /// The byte range of its references.
        var references = 0..<0
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
        var position = try Self.number(in: bytes, at: table + index * offsetSize, size: offsetSize)
        guard position >= 8, position < table else { throw PropertyListCheck.fault("an object is out of range") }
        let marker = bytes[position]
        position += 1
        switch marker >> 4 {
        case 0: return Object()
        case 1, 2, 3: return Object(size: 1 << (marker & 7))
        case 8: return Object(size: Int(marker & 15) + 1)
        case 4, 5: return try content(marker, &position, unit: 1)
        case 6: return try content(marker, &position, unit: 2)
        case 0xA, 0xB, 0xC: return try container(marker, &position, unit: 1)
        case 0xD: return try container(marker, &position, unit: 2)
        default: throw PropertyListCheck.fault("an object has no known type")
        }
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

/// Computes the size that a binary property list has when all its references are followed.
///
/// Each object is visited once, so the time is proportional to the list, whatever its expanded size.
struct BinaryPropertyListWalk {
    /// An object whose references are being followed.
    private struct Frame {
        let index: Int
        var next: Int
        let end: Int
        var size: Int
    }

    private let list: BinaryPropertyList
    private let options: PropertyListReadingOptions
    /// The size of each finished object; 0 for an unvisited one, -1 for one that is being visited.
    private var sizes: [Int]
    private var stack: [Frame] = []

    init(_ bytes: [UInt8], options: PropertyListReadingOptions) throws {
        list = try BinaryPropertyList(bytes)
        self.options = options
        // `sizes` has an entry for each declared object, so their number is limited before the allocation.
        guard list.count <= options.expandedSize.bytes / Self.objectSize else { throw Self.tooLarge(options) }
        sizes = Array(repeating: 0, count: list.count)
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
            switch sizes[child] {
            case 0: try push(child)
            case -1: throw PropertyListCheck.fault("it refers to itself")
            default: try add(sizes[child])
            }
        }
    }

    private mutating func push(_ index: Int) throws {
        let object = try list.object(index)
        // The values within the deepest container are one level below it.
        guard stack.count <= options.maximumDepth else {
            throw PropertyListCheck.fault("it is nested more than \(options.maximumDepth) deep")
        }
        sizes[index] = -1
        stack.append(
            Frame(index: index, next: object.references.lowerBound, end: object.references.upperBound, size: 0))
        try add(Self.objectSize + object.size)
    }

    private mutating func pop() throws {
        let frame = stack.removeLast()
        sizes[frame.index] = frame.size
        if !stack.isEmpty { try add(frame.size) }
    }

    private mutating func add(_ size: Int) throws {
        stack[stack.count - 1].size += size
        guard stack[stack.count - 1].size <= options.expandedSize.bytes else { throw Self.tooLarge(options) }
    }

    /// The overhead of an object in bytes.
    private static let objectSize = 16

    private static func tooLarge(_ options: PropertyListReadingOptions) -> CurlewError {
        PropertyListCheck.fault("it would become larger than \(options.expandedSize.bytes) bytes")
    }
}
