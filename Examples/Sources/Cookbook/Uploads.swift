import Curlew

private struct Receipt: Decodable, Sendable { let id: String }

private struct Sighting: Encodable, Sendable {
    let species: String
    let birdCount: Int
}

/// An upload of a large file with its progress, and a form that has a part of JSON and a file.
public func publish(
    _ recording: String, at base: String, show: @escaping @Sendable (Double) -> Void
) async throws -> [String] {
    let api = try HTTPSession(baseURL: base, json: JSONCoding(keys: .snakeCase))
    let recorded = try await api.upload("recordings", .file(recording), as: Receipt.self) { progress in
        show(progress.sent.fraction ?? 0)
    }
    let sighting = Sighting(species: "Numenius arquata", birdCount: 2)
    let form = CurlewRequest.Content.multipart { form in
        try form.append(json: sighting, name: "sighting")
        try form.append(file: recording, name: "recording")
    }
    let reported = try await api.upload("sightings", form, as: Receipt.self) { show($0.sent.fraction ?? 0) }
    return [recorded.id, reported.id]
}
