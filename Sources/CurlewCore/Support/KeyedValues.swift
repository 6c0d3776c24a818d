/// Values by the type of their key. Their number is small, so a linear search is faster than hashing.
struct KeyedValues: Sendable {
    private var entries: [(key: ObjectIdentifier, value: any Sendable)] = []

    var isEmpty: Bool { entries.isEmpty }

    /// The value under a key; nil without one. Setting nil removes the value.
    subscript<Value: Sendable>(key: ObjectIdentifier, as type: Value.Type = Value.self) -> Value? {
        get {
            for entry in entries where entry.key == key { return entry.value as? Value }
            return nil
        }
        set {
            let index = entries.firstIndex { $0.key == key }
            switch (index, newValue) {
            case (let index?, let value?): entries[index].value = value
            case (let index?, nil): entries.remove(at: index)
            case (nil, let value?): entries.append((key, value))
            case (nil, nil): break
            }
        }
    }

    /// Adds the values of others whose keys are missing here.
    mutating func merge(_ others: KeyedValues) {
        for other in others.entries where !entries.contains(where: { $0.key == other.key }) { entries.append(other) }
    }
}
