internal import FuzzingKit
internal import HTTPTypes

@testable internal import CurlewCore
@testable internal import CurlewSupport

/// A fuzz target for file names. For every server the name must be a single visible name in a folder, and harmless on
/// every system.
@main
struct FuzzContentDisposition: FuzzTarget {
    static func check(_ input: [UInt8]) {
        var choices = Choices(input)
        let path = String(decoding: choices.bytes(choices.number(below: 64)), as: UTF8.self)
        let disposition = choices.rest
        guard let uri = try? CurlewURI("http://a.test/\(path)") else { return }
        var fields = HTTPFields()
        if choices.flag() { fields.append(HTTPField(name: .contentDisposition, lenientValue: disposition)) }
        check(SuggestedFileName.name(fields: fields, uri: uri))
        if let name = SuggestedFileName.sanitized(String(guessing: disposition)) { check(name) }
        checkSpace(disposition)
        let parts = FileName(String(guessing: disposition))
        requireEqual(parts.stem + parts.fileExtension, String(guessing: disposition), "a name is not its parts")
    }

    /// Checks that white space around the equals sign of a file name changes nothing.
    private static func checkSpace(_ value: [UInt8]) {
        guard !value.contains(where: { $0 == .semicolon || $0 == .quote }), let first = value.first, !first.isBlank,
            first != .carriageReturn, first != .lineFeed
        else { return }
        let texts = ["x; filename=", "x;filename =\t", "X ; FileName = "].map { Array($0.utf8) + value }
        let names = texts.map { ContentDisposition($0).fileName }
        require(names.allSatisfy { $0 == names[0] }, "white space around an equals sign makes another name")
    }

    private static func check(_ name: String) {
        let scalars = Array(name.unicodeScalars)
        require(!scalars.isEmpty, "the name is empty")
        require(!scalars.contains("/") && !scalars.contains("\\"), "the name has a separator: \(name)")
        require(scalars.first != "." && scalars.first != " ", "the name is hidden: \(name)")
        require(scalars.last != "." && scalars.last != " ", "the name ends in what is dropped elsewhere: \(name)")
        require(name.utf8.count <= 255, "the name has \(name.utf8.count) bytes")
        for scalar in scalars {
            require(scalar.value >= 0x20 && !(0x7F...0x9F).contains(scalar.value), "the name has a control character")
            require(!(0x202A...0x202E).contains(scalar.value), "the name turns the direction of writing")
            require(!(0x2066...0x2069).contains(scalar.value), "the name turns the direction of writing")
        }
        let stem = name.prefix { $0 != "." }.lowercased()
        require(!["con", "prn", "aux", "nul", "com1", "lpt9"].contains(stem), "the name is a device's: \(name)")
        requireEqual(SuggestedFileName.sanitized(name), name, "the name changes when it is made harmless again")
    }
}
