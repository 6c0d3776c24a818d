/// The document of the JSON workloads: strings, numbers, booleans, arrays and nesting, as in a typical API.
public struct Catalogue: Codable, Sendable {
    public var total: Int
    public var items: [Item]

    /// An entry of a catalogue.
    public struct Item: Codable, Sendable {
        public var id: Int
        public var name: String
        public var price: Double
        public var isAvailable: Bool
        public var tags: [String]
        public var maker: Maker
    }

    /// The maker of an item.
    public struct Maker: Codable, Sendable {
        public var id: Int
        public var country: String
    }

    /// True if the document's total matches its items, which is unlikely after a wrong decoding.
    public var isConsistent: Bool { total == items.count && total > 0 }
}
