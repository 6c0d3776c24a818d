internal import BenchmarkKit
internal import Curlew
internal import FoundationEssentials
internal import HTTPTypes

/// The size of a catalogue.
enum CatalogueSize: String {
    case small = "1k"
    case large = "100k"

    var bytes: Int { self == .small ? 1 << 10 : 100 << 10 }
    var repetitions: Int { self == .small ? 2000 : 25 }
}

/// Encodes a catalogue as the JSON body of a request, compared with Foundation's encoder.
func jsonEncoding(_ size: CatalogueSize) throws -> Contest {
    let catalogue = try JSONDecoder().decode(Catalogue.self, from: Data(catalogueText(size.bytes).utf8))
    return try jsonEncoding(catalogue, name: size.rawValue, repetitions: size.repetitions)
}

/// Encodes 80 KB of integers with one to seven digits, some of them negative.
func jsonEncodingIntegers() throws -> Contest {
    let bounds = [100, 10_000, 1_000_000, 10_000_000]
    let integers = (0..<14_000).map { (number: Int) -> Int in
        let magnitude = number * 104_729 % bounds[number % bounds.count]
        return number % 7 == 0 ? -magnitude : magnitude
    }
    return try jsonEncoding(integers, name: "integers", repetitions: 25)
}

/// Encodes doubles of up to 17 digits, as in measurements and fractions.
func jsonEncodingDoubles() throws -> Contest {
    let doubles = (1...3300).map { Double($0) / 7 + 1 / Double($0) }
    return try jsonEncoding(doubles, name: "doubles", repetitions: 25)
}

private func jsonEncoding(_ value: some Encodable & Sendable, name: String, repetitions: Int) throws -> Contest {
    let serializer = JSONRequestSerializer()
    let request = CurlewRequest(.post, try CurlewURI("https://example.com/catalogue"))
    return Contest(
        workload: "json-encode-\(name)", repetitions: repetitions,
        entrants: [
            Contest.Entrant(name: "curlew") {
                Int(try serializer.serialize(value, into: request).body.length ?? 0)
            },
            Contest.Entrant(name: "jsonencoder") { try JSONEncoder().encode(value).count },
        ])
}

/// Decodes a catalogue from the body of a response, compared with Foundation's decoder alone, which checks less.
func jsonDecoding(_ size: CatalogueSize) throws -> Contest {
    let text = Array(catalogueText(size.bytes).utf8)
    let data = Data(text)
    let head = HTTPResponse(status: .ok, headerFields: [.contentType: "application/json"])
    let response = CurlewResponse.Collected(head: head, body: text, uri: try CurlewURI("https://example.com/catalogue"))
    let serializer = JSONResponseSerializer<Catalogue>()
    return Contest(
        workload: "json-decode-\(size.rawValue)", repetitions: size.repetitions,
        entrants: [
            Contest.Entrant(name: "curlew") { try digest(serializer.decode(response)) },
            Contest.Entrant(name: "jsondecoder") { try digest(JSONDecoder().decode(Catalogue.self, from: data)) },
        ])
}

private func digest(_ catalogue: Catalogue) throws -> Int {
    guard catalogue.isConsistent else { throw WrongResult(workload: "json", client: "") }
    return catalogue.items.reduce(catalogue.total) { $0 + $1.tags.count + $1.name.utf8.count }
}

/// The document that `make bench` serves, with about `size` bytes.
private func catalogueText(_ size: Int) -> String {
    var items: [String] = []
    var length = 0
    while length < size {
        let number = items.count
        let price = "\(Double(number) * 1.25 + 0.5)"
        items.append(
            #"{"id": \#(number), "name": "Article number \#(number)", "price": \#(price), "#
                + #""isAvailable": \#(number % 3 != 0), "tags": ["paper", "blue", "shelf-\#(number % 17)"], "#
                + #""maker": {"id": \#(number % 29), "country": "Iceland"}}"#)
        length += items[number].utf8.count + 2
    }
    return #"{"total": \#(items.count), "items": [\#(items.joined(separator: ", "))]}"#
}
