import Curlew

struct Bird: Codable, Sendable {
    var id: Int
    var name: String
}

/// The client of a service: a session, and a function for each call.
struct Birds: Sendable {
    let api: HTTPSession

    /// A bird; nil if the service does not have it.
    func bird(_ id: Int) async throws -> Bird? {
        do {
            return try await api.get("birds/\(id)", as: Bird.self)
        } catch let error as CurlewError where error.status == .notFound {
            return nil
        }
    }

    func add(_ bird: Bird) async throws -> Bird {
        try await api.post("birds", .json(bird), as: Bird.self, timeout: .seconds(5))
    }
}
