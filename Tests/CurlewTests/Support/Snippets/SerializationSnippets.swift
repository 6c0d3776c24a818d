import Curlew
import FoundationEssentials

/// The code of Serialization.md and MigratingFromAFNetworking.md, so that it compiles. ``DocumentationTests`` compares
/// them.
enum SerializationSnippets {
    struct Bird: Codable, Sendable {
        var name: String
        var seen: Date
    }

    // MARK: Serialization.md: requests

    private func sendParameters(_ api: HTTPSession, bird: Bird) async throws {
        _ = try await api.get(
            "birds", parameters: ["family": "Scolopacidae", "tags": ["wader", "migrant"], "page": 2])
        _ = try await api.post("birds", parameters: .encoding(bird))
        _ = try await api.post("birds", parameters: .encoding(bird), encoding: .json)
        _ = try await api.delete("birds", parameters: ["ids": [7, 8]], encoding: .form)
    }

    private func chooseSerializer() throws -> HTTPSession {
        var serializer = JSONRequestSerializer()
        serializer.style.options = [.sortedKeys]
        serializer.base.encoder.keyNaming = .snakeCase
        serializer.base.style.arrays = .indexed
        try serializer.base.setAuthorization(user: "importer", password: "secret")

        var api = try HTTPSession(baseURL: "https://api.example.com/v1/")
        api.requestSerializer = serializer
        return api
    }

    private func buildTree() throws -> ParameterValue {
        var parameters: ParameterValue = ["name": "Numenius arquata", "seen": .date(Date()), "note": nil]
        parameters["observer"] = try ParameterValue(encoding: Bird(name: "Ada", seen: Date()))
        parameters["exact"] = ParameterValue.Number(decimal: "0.10").map { .number($0) }
        return parameters
    }

    private func ownQuery() -> HTTPRequestSerializer {
        var serializer = HTTPRequestSerializer()
        serializer.queryEncoder = { request, parameters in
            guard case .dictionary(let dictionary) = parameters else { return "" }
            return dictionary.keys.joined(separator: ";")
        }
        return serializer
    }

    private func serializeAlone() throws -> CurlewRequest {
        let request = try CurlewRequest(.put, "https://api.example.com/birds/7")
        return try JSONRequestSerializer().serialize(["name": "Curlew"] as ParameterValue, into: request)
    }

    /// Sends the readings compressed in the body, and everything else in the query.
    struct PackedReadings: RequestSerializer {
        var base = HTTPRequestSerializer()

        func serialize(_ call: ParameterizedRequest) throws -> CurlewRequest {
            var rest = try call.parameters.value(encodedBy: base.encoder) ?? [:]
            let readings = rest["readings"] ?? []
            rest["readings"] = .none

            var request = call.request
            request.body = .bytes(try RequestCompression.Format.deflate.compress(readings.json()))
            request.fields[.contentType] = "application/json"
            request.fields[.contentEncoding] = RequestCompression.Format.deflate.name
            return try base.serialize(
                ParameterizedRequest(request, parameters: RequestParameters(rest), placement: .query))
        }
    }

    private func upload(_ api: HTTPSession, readings: ParameterValue) async throws {
        _ = try await api.post(
            "stations/7", parameters: ["unit": "K", "readings": readings], encoding: .serializer(PackedReadings()))
    }

    private func compressed() throws -> HTTPSession {
        var compression = RequestCompression(.gzip)
        compression.minimumSize = .kibibytes(4)
        return try HTTPSession(baseURL: "https://api.example.com/") {
            compression
        }
    }

    private func show(_ api: HTTPSession) throws {
        let request = try api.request(.get, "birds", parameters: RequestParameters(["page": 2] as ParameterValue))
        print(request.curlCommand())
    }

    // MARK: Serialization.md: multipart

    private func postForm(_ api: HTTPSession) async throws -> CurlewResponse {
        let response = try await api.post(
            "sightings",
            .multipart(parameters: ["species": "curlew"]) { form in
                form.append("two, calling", name: "note")
                try form.append(file: "/srv/photos/curlew.jpg", name: "photo")
            })
        return response
    }

    struct Recorder: Sendable {
        func hour() async throws -> AsyncStream<[UInt8]> { AsyncStream { $0.finish() } }
    }

    private func putForm(
        _ api: HTTPSession, bird: Bird, thumbnail: [UInt8], recorder: Recorder
    ) async throws -> CurlewResponse {
        var form = MultipartFormData()
        try form.append(parameters: bird)
        try form.append(.bytes(thumbnail), name: "thumbnail", fileName: "curlew.png")
        try form.append(file: "/srv/recordings/1.wav", name: "call", contentType: "audio/wav", range: 0..<65_536)
        try form.append(.stream(length: 3600) { try await recorder.hour() }, name: "levels", fileName: "levels.bin")
        let response = try await api.send(.put, "sightings/7", .multipart(form))
        return response
    }

    private func spoolForm(_ api: HTTPSession, _ form: MultipartFormData) async throws -> CurlewResponse {
        var form = form
        form.throttle = MultipartFormData.Throttle(packetSize: .kibibytes(16), delay: .milliseconds(200))
        let request = try api.request(.post, "sightings", .multipart(form))
        let spooled = try await request.spoolingBody(to: "/var/spool/sightings/7")
        let response = try await api.send(spooled)
        return response
    }

    private func readRanges(_ api: HTTPSession) async throws {
        let response = try await api.get("recordings/1", fields: [.range: "bytes=0-99,500-599"])
        for try await part in try response.multipart() {
            print(part.fields[.contentRange] ?? "", try await part.body.collect(upTo: .kibibytes(1)).count)
        }
    }

    // MARK: MigratingFromAFNetworking.md

    private func migrated() async throws -> CurlewResponse {
        let api = try HTTPSession(baseURL: "https://example.com/v1")
        return try await api.get("resources", parameters: ["foo": "bar", "baz": [1, 2, 3]])
    }

    private func migratedPolicy(authority: String, keys: SecurityPolicy.PinSet) -> SecurityPolicy {
        let policy = SecurityPolicy.anchors(pem: authority, pins: keys)
        return policy
    }
}
