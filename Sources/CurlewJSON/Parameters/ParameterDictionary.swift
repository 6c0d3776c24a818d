extension ParameterValue {
    /// Parameters by name, in the order in which they were put in.
    ///
    /// A key is there once: putting a value for it again replaces the former one and keeps its place. Keys that Swift takes for
    /// equal strings (the same letters, composed or not) are one key. Two dictionaries are equal if keys, values and order are.
    public struct Object: Sendable {
        // The table is inlinable, because writers of forms, which are in another module, read it pair by pair.
        @usableFromInline private(set) var table: OrderedTable<ParameterValue>

        /// An empty one.
        public init() { table = OrderedTable() }

        init(table: OrderedTable<ParameterValue>) { self.table = table }

        /// - Parameter pairs: Keys and values; of a key that comes twice the last value counts.
        public init(_ pairs: some Sequence<(String, ParameterValue)>) {
            table = OrderedTable()
            table.reserveCapacity(pairs.underestimatedCount)
            for (key, value) in pairs { table.set(value, for: key) }
        }

        /// The keys in their order.
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

        /// The places of the keys sorted by their UTF-8 bytes; nil if that is how they stand already.
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

    /// A key and its value by their place.
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

/// Values by name in the order in which the names first came.
@usableFromInline
struct OrderedTable<Value> {
    @usableFromInline private(set) var keys: [String] = []
    @usableFromInline private(set) var values: [Value] = []
    /// The index of each key, once there are so many that looking through them would take long.
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

    /// Puts the value in place of the key's former one, else at the end.
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
