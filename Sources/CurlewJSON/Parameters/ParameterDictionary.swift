extension ParameterValue {
    /// Parameters by name, in the order of insertion.
    ///
    /// Each key occurs once: a new value for a key replaces the former one and keeps its position. Keys that are equal
    /// as Swift strings (the same letters, composed or not) are the same key. Two dictionaries are equal if keys,
    /// values and order are equal.
    public struct Object: Sendable {
        // The table is inlinable, because writers of forms, which are in another module, read it pair by pair.
        @usableFromInline private(set) var table: OrderedTable<ParameterValue>

        /// Creates an empty dictionary.
        public init() { table = OrderedTable() }

        init(table: OrderedTable<ParameterValue>) { self.table = table }

        /// - Parameter pairs: Keys and values; of a repeated key the last value counts.
        public init(_ pairs: some Sequence<(String, ParameterValue)>) {
            table = OrderedTable()
            table.reserveCapacity(pairs.underestimatedCount)
            for (key, value) in pairs { table.set(value, for: key) }
        }

        /// The keys in order.
        public var keys: [String] { table.keys }

        /// The values in the order of their keys.
        public var values: [ParameterValue] { table.values }

        /// The value for a key. Setting nil removes the key.
        public subscript(key: String) -> ParameterValue? {
            get { table.position(of: key).map { table.values[$0] } }
            set {
                if let newValue { table.set(newValue, for: key) } else { table.remove(key) }
            }
        }

        /// The positions of the keys sorted by their UTF-8 bytes; nil if they are sorted already.
        package func sortedPositions() -> [Int]? {
            let keys = table.keys
            let isSorted = zip(keys, keys.dropFirst()).allSatisfy { $0.utf8.lexicographicallyPrecedes($1.utf8) }
            guard !isSorted else { return nil }
            return keys.indices.sorted { keys[$0].utf8.lexicographicallyPrecedes(keys[$1].utf8) }
        }
    }
}

extension ParameterValue.Object: RandomAccessCollection {
    @inlinable public var startIndex: Int { 0 }
    @inlinable public var endIndex: Int { table.keys.count }

    /// The key and value at a position.
    @inlinable
    public subscript(position: Int) -> (key: String, value: ParameterValue) {
        (table.keys[position], table.values[position])
    }
}

extension ParameterValue.Object: Hashable {
    public static func == (left: ParameterValue.Object, right: ParameterValue.Object) -> Bool {
        left.table.keys == right.table.keys && left.table.values == right.table.values
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(table.keys)
        hasher.combine(table.values)
    }
}

extension ParameterValue.Object: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (String, ParameterValue)...) { self.init(elements) }
}

/// Values by name, in the order of the first insertion of each name.
@usableFromInline
struct OrderedTable<Value> {
    @usableFromInline private(set) var keys: [String] = []
    @usableFromInline private(set) var values: [Value] = []
    /// The index of each key, for tables that are too large for a linear search.
    private var positions: [String: Int]?

    private static var searchedLimit: Int { 16 }

    init() {}

    private init(keys: [String], values: [Value], positions: [String: Int]?) {
        self.keys = keys
        self.values = values
        self.positions = positions
    }

    func position(of key: String) -> Int? {
        if let positions { return positions[key] }
        return keys.firstIndex(of: key)
    }

    /// Replaces the key's value, or appends the value.
    mutating func set(_ value: Value, for key: String) {
        if let position = position(of: key) {
            values[position] = value
            return
        }
        positions?[key] = keys.count
        keys.append(key)
        values.append(value)
        if positions == nil, keys.count > Self.searchedLimit { index() }
    }

    mutating func remove(_ key: String) {
        guard let position = position(of: key) else { return }
        keys.remove(at: position)
        values.remove(at: position)
        if positions != nil { index() }
    }

    mutating func reserveCapacity(_ count: Int) {
        keys.reserveCapacity(count)
        values.reserveCapacity(count)
    }

    func mapValues<Other>(_ transform: (Value) -> Other) -> OrderedTable<Other> {
        OrderedTable<Other>(keys: keys, values: values.map(transform), positions: positions)
    }

    private mutating func index() {
        var positions: [String: Int] = [:]
        positions.reserveCapacity(keys.count * 2)
        for (position, key) in keys.enumerated() { positions[key] = position }
        self.positions = positions
    }
}

extension OrderedTable: Sendable where Value: Sendable {}
