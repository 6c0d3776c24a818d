public import Hummingbird

/// What the service answers: a bird, and what could be learned of it in time.
public struct BirdPage: ResponseCodable, Sendable, Equatable {
    /// What the page is about; without it there is no page.
    public struct Species: Codable, Sendable, Equatable {
        public var name: String
        public var family: String
    }

    /// Where the bird was seen last.
    public struct Sighting: Codable, Sendable, Equatable {
        public var place: String
    }

    /// What the weather is where birds are.
    public struct Weather: Codable, Sendable, Equatable {
        public var wind: Double
    }

    public var species: Species
    public var sightings: [Sighting]?
    public var weather: Weather?
    /// The parts that are not there since their upstream failed or took too long.
    public var missing: [String]
}
