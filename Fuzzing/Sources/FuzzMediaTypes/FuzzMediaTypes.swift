internal import FuzzingKit
internal import HTTPTypes

@testable internal import CurlewCore
@testable internal import CurlewSupport

/// A fuzz target for media types. A type must stay equal after writing and reading, its parts must be valid, and it
/// must match itself.
@main
struct FuzzMediaTypes: FuzzTarget {
    static func check(_ input: [UInt8]) {
        let text = String(decoding: input, as: UTF8.self)
        if let type = ContentType(text) { check(type) }
        checkList(input)
        var fields = HTTPFields()
        for line in text.split(separator: "\n") {
            fields.append(HTTPField(name: .contentType, value: String(line)))
        }
        if let type = ContentType(contentTypeOf: fields) { check(type) }
        checkDisposition(text)
    }

    private static func check(_ type: ContentType) {
        requireEqual(ContentType(type.description), type, "a type is another when it is read again")
        for part in [type.type, type.subtype] + type.parameters.map(\.name) {
            require(!part.isEmpty && part.utf8.allSatisfy(\.isTokenByte), "a name is no token: \(part)")
            require(!part.utf8.contains { (0x41...0x5A).contains($0) }, "a name is not in lower case: \(part)")
        }
        require(type.parameters.count <= ContentType.parameterLimit, "there are too many parameters")
        require(Set(type.parameters.map(\.name)).count == type.parameters.count, "a parameter is there twice")
        for parameter in type.parameters {
            require(parameter.value.utf8.allSatisfy(\.isFieldValueByte), "a value holds a control character")
            requireEqual(type[parameter.name.uppercased()], parameter.value, "a parameter is not found")
        }
        if type.type != "*" { require(type.matches(type), "\(type) is not within itself") }
    }

    /// Checks that the members of a list, joined by commas, equal the list.
    private static func checkList(_ bytes: [UInt8]) {
        let parts = MediaTypeParser.parts(of: bytes)
        requireEqual(Array(parts.joined(separator: [.comma])), bytes, "the members are not the list")
    }

    /// Checks that the values of Content-Disposition contain no control characters, not even escaped ones.
    private static func checkDisposition(_ text: String) {
        let disposition = ContentDisposition(text)
        for value in [disposition.name, disposition.fileName].compactMap(\.self) {
            require(value.utf8.allSatisfy(\.isFieldValueByte), "a value holds a control character")
        }
    }
}
