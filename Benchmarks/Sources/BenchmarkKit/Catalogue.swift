/// The document that the JSON workloads decode: strings, numbers, booleans, arrays and nesting, as an API would send.
public struct Catalogue: Codable, Sendable {
    public var total: Int
    public var items: [Item]

    /// One entry of a catalogue.
    public struct Item: Codable, Sendable {
        public var id: Int
        public var name: String
        public var price: Double
        public var isAvailable: Bool
        public var tags: [String]
        public var maker: Maker
    }

    /// Who makes an item.
    public struct Maker: Codable, Sendable {
        public var id: Int
        public var country: String
    }

    /// Whether it says of itself what it holds, which a document decoded by mistake would not.
    public var isConsistent: Bool { total == items.count && total > 0 }
}
