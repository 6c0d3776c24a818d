internal import Curlew
internal import HTTPTypes
internal import Hummingbird
internal import Logging

/// The base URLs of the three services that provide the data of a page.
public struct Upstreams: Sendable {
    public var species: String
    public var sightings: String
    public var weather: String

    public init(species: String, sightings: String, weather: String) {
        self.species = species
        self.sightings = sightings
        self.weather = weather
    }
}

/// Assembles pages: one session asks three upstreams concurrently.
struct BirdPages: Sendable {
    let session: HTTPSession
    let upstreams: Upstreams
    /// The time limit for an upstream, retries included.
    let deadline: Duration

    /// Cancelling the task that awaits the page cancels its upstream requests.
    /// - Throws: `HTTPError`: 404 if there is no such bird; 504 or 502 if its data could not be fetched.
    func page(of bird: String, logger: Logger) async throws -> BirdPage {
        async let species = session.get(
            "\(raw: upstreams.species)/\(bird)", as: BirdPage.Species.self, timeout: deadline)
        async let sightings = part("sightings", logger) {
            try await session.get(
                "\(raw: upstreams.sightings)/\(bird)", as: [BirdPage.Sighting].self, timeout: deadline)
        }
        async let weather = part("weather", logger) {
            try await session.get(.raw(upstreams.weather), as: BirdPage.Weather.self, timeout: deadline)
        }
        do {
            var page = BirdPage(species: try await species, missing: [])
            page.sightings = try await sightings
            page.weather = try await weather
            if page.sightings == nil { page.missing.append("sightings") }
            if page.weather == nil { page.missing.append("weather") }
            return page
        } catch let error as CurlewError {
            throw HTTPError(Self.status(for: error))
        }
    }

    /// An optional part of the page. A cancellation is rethrown, because the client of the page is gone.
    private func part<Value: Sendable>(
        _ name: String, _ logger: Logger, _ fetch: () async throws -> Value
    ) async throws -> Value? {
        do {
            return try await fetch()
        } catch let error as CurlewError where !error.isCancellation {
            logger.warning("a page goes without \(name)", metadata: ["error": "\(error)"])
            return nil
        }
    }

    private static func status(for error: CurlewError) -> HTTPResponse.Status {
        if error.response?.status == .notFound { return .notFound }
        return error.isTimeout ? .gatewayTimeout : .badGateway
    }
}
