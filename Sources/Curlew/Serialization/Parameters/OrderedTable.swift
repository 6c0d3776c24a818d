/// Values by name in the order in which the names first came.
struct OrderedTable<Value> {
    private(set) var keys: [String] = []
    private(set) var values: [Value] = []
    /// Where each key is, once there are so many that looking through them would take long.
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
