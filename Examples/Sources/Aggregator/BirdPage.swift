public import Hummingbird

/// The answer of the service: a bird, and the data that arrived in time.
public struct BirdPage: ResponseCodable, Sendable, Equatable {
    /// The subject of the page; without it there is no page.
    public struct Species: Codable, Sendable, Equatable {
        public var name: String
        public var family: String
    }

    /// The place where the bird was seen last.
    public struct Sighting: Codable, Sendable, Equatable {
        public var place: String
    }

    /// The weather at the bird's place.
    public struct Weather: Codable, Sendable, Equatable {
        public var wind: Double
    }

    public var species: Species
    public var sightings: [Sighting]?
    public var weather: Weather?
    /// The parts that are missing because their upstream failed or was too slow.
    public var missing: [String]
}
