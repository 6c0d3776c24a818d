import HTTPTypes
import Testing

@testable import CurlewCore

@Suite("The custom serializer of the documentation")
struct PackedReadingsTests {
    @Test("the readings are sent compressed in the body, and the other parameters in the query")
    func packs() throws {
        let readings = ParameterValue.array((0..<1000).map { ["second": ParameterValue($0), "value": 281.5] })
        let parameters: ParameterValue = ["unit": "K", "readings": readings, "place": "Wadden Sea"]
        let request = try SerializationSnippets.PackedReadings().serialize(
            parameters, into: CurlewRequest(.post, "http://a.test/7"))
        #expect(request.uri.description == "http://a.test/7?place=Wadden%20Sea&unit=K")
        #expect(request.fields[.contentEncoding] == "deflate")
        guard case .bytes(let body) = request.body.source else { throw CurlewError(.bodyFailed, "no bytes") }
        #expect(try inflated(body) == readings.json())
        #expect(try body.count < readings.json().count / 5)
    }
}
