/// Where an encoder stands: a list from the inside out, so that going in costs the same at every depth.
final class CodingPath {
    private let parent: CodingPath?
    private let key: (any CodingKey)?
    let depth: Int

    /// The top.
    init() {
        parent = nil
        key = nil
        depth = 0
    }

    private init(parent: CodingPath, key: any CodingKey) {
        self.parent = parent
        self.key = key
        depth = parent.depth + 1
    }

    func appending(_ key: any CodingKey) -> CodingPath { CodingPath(parent: self, key: key) }

    /// The keys from the top on.
    var keys: [any CodingKey] {
        var keys: [any CodingKey] = []
        var place: CodingPath? = self
        while let current = place {
            if let key = current.key { keys.append(key) }
            place = current.parent
        }
        return keys.reversed()
    }

    /// Whether the other one is here or further out.
    func isInside(_ other: CodingPath) -> Bool {
        var place: CodingPath? = self
        while let current = place, current.depth > other.depth { place = current.parent }
        return place === other
    }
}

/// The place in a list, as a key.
struct IndexKey: CodingKey {
    let index: Int

    init(_ index: Int) { self.index = index }
    init?(intValue: Int) { index = intValue }
    init?(stringValue: String) { nil }

    var intValue: Int? { index }
    var stringValue: String { "\(index)" }
}

/// The key that `superEncoder()` goes by.
struct SuperKey: CodingKey {
    init() {}
    init?(intValue: Int) { nil }
    init?(stringValue: String) { nil }

    var intValue: Int? { nil }
    var stringValue: String { "super" }
}
