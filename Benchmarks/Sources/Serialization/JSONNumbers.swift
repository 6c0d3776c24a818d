internal import Curlew
internal import FoundationEssentials
internal import HTTPTypes

/// Decodes a list of integers from the body of a response, compared with Foundation's decoder alone.
func jsonDecodingIntegers() throws -> Contest {
    try numbers("json-decode-integers", (0..<15_000).map { $0 * 7919 % 100_003 })
}

/// Decodes a list of doubles with all their significant digits, compared with Foundation's decoder alone.
func jsonDecodingDoubles() throws -> Contest {
    try numbers("json-decode-doubles", (1...3_500).map { 1 / Double($0) + Double($0 % 97) })
}

private func numbers<Number: Codable & Sendable & BitsOfNumber>(
    _ name: String, _ numbers: [Number]
) throws -> Contest {
    let text = Array(try JSONEncoder().encode(numbers))
    let data = Data(text)
    let head = HTTPResponse(status: .ok, headerFields: [.contentType: "application/json"])
    let response = CurlewResponse.Collected(head: head, body: text, uri: try CurlewURI("https://example.com/numbers"))
    let serializer = JSONResponseSerializer<[Number]>()
    return Contest(
        workload: name, repetitions: 50,
        entrants: [
            Contest.Entrant(name: "curlew") { try serializer.decode(response).reduce(0) { $0 &+ $1.bits } },
            Contest.Entrant(name: "jsondecoder") {
                try JSONDecoder().decode([Number].self, from: data).reduce(0) { $0 &+ $1.bits }
            },
        ])
}

/// The common requirement of both kinds of numbers: their bits.
private protocol BitsOfNumber {
    var bits: Int { get }
}

extension Int: BitsOfNumber {
    fileprivate var bits: Int { self }
}

extension Double: BitsOfNumber {
    fileprivate var bits: Int { Int(truncatingIfNeeded: bitPattern) }
}
