internal import CurlewPlatform

/// The names of the open objects, for the detection of duplicates.
///
/// Most objects have a few short names without duplicates, so a mask of 64 bits suffices for most names. A name that
/// the mask does not exclude is compared with the earlier names in the text.
///
/// Names that are not plain ASCII, or too many, are stored in a set of strings. These names are the same if they are
/// equal as Swift strings, as in ``ParameterEncoder``. The set's hash has a random seed, so a peer cannot choose names
/// that make it slow.
struct JSONNames {
    /// The state of the names of one object.
    struct Scope {
        fileprivate var mask: UInt64 = 0
        fileprivate var first = 0
        fileprivate var hasSet = false

        init() {}
    }

    private struct Entry {
        let marks: UInt64
        let start: Int
        let length: Int
    }

    /// The entries in raw memory, because an array checks its uniqueness at every name.
    private var entries: UnsafeMutablePointer<Entry>
    private var capacity = keptCapacity
    private var count = 0
    /// A set for each open object that needs one, from the outside in.
    private var sets: [Set<String>] = []

    private static let comparedLimit = 64
    private static let keptCapacity = 256

    init() { entries = .allocate(capacity: capacity) }

    func deallocate() { entries.deallocate() }

    mutating func removeAll() {
        count = 0
        sets = []
        guard capacity > Self.keptCapacity else { return }
        entries.deallocate()
        capacity = Self.keptCapacity
        entries = .allocate(capacity: capacity)
    }

    /// Begins an object inside the open objects.
    @inline(__always)
    func scope() -> Scope {
        var scope = Scope()
        scope.first = count
        return scope
    }

    /// Ends the innermost object.
    @inline(__always)
    mutating func end(_ scope: Scope) {
        count = scope.first
        if scope.hasSet { sets.removeLast() }
    }

    /// Adds a name of the innermost object; false if the object has it already.
    /// - Parameters:
    ///   - name: The name. The text ends with it, in quotation marks and followed by a colon.
    ///   - marks: The marks of the written name.
    ///   - members: The number of members including this one.
    ///   - scope: The state of the names of the object.
    ///   - text: The text.
    @inline(__always)
    mutating func insert(
        _ name: String, _ marks: JSONOutput.Marks, count members: Int, into scope: inout Scope, of text: JSONOutput
    ) -> Bool {
        if !marks.isPlain || scope.hasSet || members > Self.comparedLimit { return insertIntoSet(name, &scope, text) }
        let mixed = (marks.first ^ (marks.last &* 0x9E37_79B9_7F4A_7C15)) &* 0xD6E8_FEB8_6659_FD93
        let bit = 1 << (mixed >> 58) as UInt64
        let length = name.utf8.count
        let entry = Entry(marks: mixed, start: text.count &- length &- 2, length: length)
        if scope.mask & bit != 0, contains(entry, scope, text) { return false }
        scope.mask |= bit
        if count == capacity { grow() }
        (entries + count).initialize(to: entry)
        count &+= 1
        return true
    }

    @inline(never)
    private func contains(_ entry: Entry, _ scope: Scope, _ text: JSONOutput) -> Bool {
        for index in scope.first..<count where entries[index].marks == entry.marks {
            let other = entries[index]
            if other.length == entry.length,
                memcmp(text.start + other.start, text.start + entry.start, entry.length) == 0
            {
                return true
            }
        }
        return false
    }

    @inline(never)
    private mutating func insertIntoSet(_ name: String, _ scope: inout Scope, _ text: JSONOutput) -> Bool {
        if !scope.hasSet {
            scope.hasSet = true
            // Plain names are unchanged in the text.
            sets.append(
                Set(
                    (scope.first..<count).map { index in
                        let entry = entries[index]
                        let bytes = UnsafeBufferPointer(start: text.start + entry.start, count: entry.length)
                        return String(decoding: bytes, as: UTF8.self)
                    }))
        }
        return sets[sets.count - 1].insert(name).inserted
    }

    @inline(never)
    private mutating func grow() {
        let larger = UnsafeMutablePointer<Entry>.allocate(capacity: capacity * 2)
        larger.update(from: entries, count: count)
        entries.deallocate()
        entries = larger
        capacity *= 2
    }
}

/// The names of keys in a style.
///
/// The conversion to snake case is slow, and the keys of a type are the same for all its values, so these names are
/// stored. A closure may return a different name each time, so it is called each time.
struct JSONKeyNames {
    var naming = ParameterEncoder.KeyNaming.asWritten
    /// The names in snake case.
    private var known: [String: String] = [:]

    private static let knownLimit = 512
    private static let lengthLimit = 64

    init() {}

    mutating func name(of key: String) -> String {
        // Names beyond ASCII may be equal Swift strings with different bytes.
        guard case .snakeCase = naming.kind, key.utf8.allSatisfy({ $0 < 0x80 }) else { return naming.name(of: key) }
        if let name = known[key] { return name }
        let name = naming.name(of: key)
        if known.count < Self.knownLimit, key.utf8.count <= Self.lengthLimit { known[key] = name }
        return name
    }
}
