/// Values that are found by the type of their key. There are few of them, so that a search is quicker than a hash.
struct KeyedValues: Sendable {
    private var entries: [(key: ObjectIdentifier, value: any Sendable)] = []

    var isEmpty: Bool { entries.isEmpty }

    /// The value under a key; nil if there is none. nil for the value, too, removes it.
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

    /// Takes over the values of others for keys that have none here.
    mutating func merge(_ others: KeyedValues) {
        for other in others.entries where !entries.contains(where: { $0.key == other.key }) { entries.append(other) }
    }
}
