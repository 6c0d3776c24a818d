/// Follows every reference of a binary property list once, and adds up what following them all would come to.
///
/// Each object is visited once, so the walk takes time in proportion to the list, however large it would become.
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
    /// The size of each object that is done; 0 for one that is not known yet, -1 for one that is under way.
    private var sizes: [Int]
    private var stack: [Frame] = []

    init(_ bytes: [UInt8], options: PropertyListReadingOptions) throws {
        list = try BinaryPropertyList(bytes)
        self.options = options
        // Each object that is used adds as much, and what is kept of each is allotted for all that are declared.
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
        // The values within the deepest container stand one level below it.
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

    /// What an object costs beside its content.
    private static let objectSize = 16

    private static func tooLarge(_ options: PropertyListReadingOptions) -> CurlewError {
        PropertyListCheck.fault("it would become larger than \(options.expandedSize.bytes) bytes")
    }
}
