import Curlew
import Foundation
import Testing

/// The media types of the web platform tests, which `make test-web-platform` fetches.
@Suite("Conformance: media types of the web platform tests", .timeLimit(.minutes(1)))
struct MediaTypeSuiteTests {
    /// The folder with the tests.
    private static let folder = ProcessInfo.processInfo.environment["CURLEW_WEB_PLATFORM_TESTS"]

    private func decoded<Value: Decodable>(_ path: String, as type: Value.Type) throws -> Value {
        let folder = URL(filePath: try #require(Self.folder))
        return try JSONCoding().decode(type, from: [UInt8](try Data(contentsOf: folder.appending(path: path))))
    }

    /// A type in the form of the standard: no space after a semicolon, and quotes only where they are necessary.
    private func serialized(_ type: ContentType) -> String {
        type.parameters.reduce(into: type.essence) { text, parameter in
            text += ContentType(type.type, type.subtype, parameters: [parameter]).description
                .dropFirst(type.essence.count).replacing("; ", with: ";", maxReplacements: 1)
        }
    }

    /// An entry of the file: a case, or the title of those that follow.
    private enum Entry: Decodable {
        struct Case: Decodable {
            let input: String
            let output: String?
        }

        case title
        case example(Case)

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            self = (try? container.decode(String.self)) != nil ? .title : .example(try container.decode(Case.self))
        }
    }

    @Test(
        "each value has the expected type and parameters", .enabled(if: Self.folder != nil),
        arguments: [("mime-types.json", 74), ("generated-mime-types.json", 881)])
    func parsing(file: String, count: Int) throws {
        var number = 0
        for case .example(let example) in try decoded("mimesniff/mime-types/resources/\(file)", as: [Entry].self) {
            number += 1
            // A field's value is bytes, and the UTF-8 of any character is allowed in it.
            if example.input.contains("\u{fffd}") { continue }
            #expect(ContentType(example.input).map(serialized) == example.output, "\(example.input.debugDescription)")
        }
        #expect(number == count)
    }

    /// The fields of a response, and the type that they mean together.
    private struct Fields: Decodable {
        let contentType: [String]
        let mimeType: String
    }

    @Test(
        "several values of Content-Type mean the expected type, in separate fields and in one",
        .enabled(if: Self.folder != nil))
    func combination() throws {
        let cases = try decoded("fetch/content-type/resources/content-types.json", as: [Fields].self)
        #expect(cases.count == 20)
        for example in cases {
            for values in [example.contentType, [example.contentType.joined(separator: ", ")]] {
                let fields = HTTPFields(values.map { HTTPField(name: .contentType, value: $0) })
                #expect(ContentType(contentTypeOf: fields).map(serialized) == example.mimeType, "\(values)")
            }
        }
    }
}
