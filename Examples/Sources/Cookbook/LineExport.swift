import Curlew

private struct Reading: Decodable, Sendable {
    let station: Int
    let level: Double
}

/// An export of a million lines of JSON, summed up while it arrives, in little memory.
public func totals(of base: String) async throws -> (rows: Int, levels: [Int: Double]) {
    let api = try HTTPSession(baseURL: base)
    var rows = 0
    var levels: [Int: Double] = [:]
    let readings = api.lines("readings.ndjson", query: ["year": 2026], as: Reading.self, malformed: .skip)
    for try await reading in readings {
        rows += 1
        levels[reading.station, default: 0] += reading.level
    }
    return (rows, levels)
}
