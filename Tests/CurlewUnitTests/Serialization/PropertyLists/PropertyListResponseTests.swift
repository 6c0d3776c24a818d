import Foundation
import HTTPTypes
import SeededNumbers
import TestHelpers
import Testing
import ThreadWork

@testable import CurlewCore

@Suite("Property list responses", .timeLimit(.minutes(1)))
struct PropertyListResponseTests {
    struct Settings: Codable, Sendable, Equatable {
        var name: String
        var sizes: [Int]
        var day: Date
        var blob: Data
        var table: [String: Double]
    }

    private let settings = Settings(
        name: "é", sizes: [1, 300, 70_000, 5_000_000_000], day: Date(timeIntervalSince1970: 0), blob: Data([1, 2, 3]),
        table: ["a": 1.5])

    private func fault(
        _ bytes: [UInt8],
        options: PropertyListReadingOptions = PropertyListReadingOptions()
    ) async throws -> String? {
        let serializer = PropertyListResponseSerializer<[String: String]>(options: options)
        let error = await curlewError {
            _ = try await serializer.serialize(stubResponse(type: "application/x-plist", bytes: bytes))
        }
        #expect(error?.code == .decodingFailed)
        return (error?.underlying as? CurlewError)?.message
    }

    @Test(
        "property lists are read in XML and in binary form",
        arguments: [PropertyListDecoder.PropertyListFormat.xml, .binary])
    func forms(_ format: PropertyListDecoder.PropertyListFormat) async throws {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = format
        let bytes = Array(try encoder.encode(settings))
        let response = try stubResponse(type: "application/x-plist", bytes: bytes)
        #expect(try await PropertyListResponseSerializer<Settings>().serialize(response) == settings)
    }

    @Test("a missing body is nil or a separate error, and another media type is refused")
    func empty() async throws {
        let none = try stubResponse(.noContent, type: nil, "")
        #expect(try await PropertyListResponseSerializer<Settings?>().serialize(none) == nil)
        #expect(
            await curlewError { _ = try await PropertyListResponseSerializer<Settings>().serialize(none) }?.code
                == .emptyBody)
        let error = await curlewError {
            _ = try await PropertyListResponseSerializer<[Int]>().serialize(stubResponse(type: "text/xml", "<plist/>"))
        }
        #expect(error?.code == .unacceptableContentType)
    }

    @Test("XML may be nested only up to the limit", arguments: ["array", "dict><key>k</key", "plist"])
    func deepXML(_ element: String) async throws {
        let name = element.prefix { $0 != ">" }
        func nested(_ depth: Int) -> [UInt8] {
            Array(
                (String(repeating: "<\(element)>", count: depth) + String(repeating: "</\(name)>", count: depth)).utf8)
        }
        #expect(try await fault(nested(100_000))?.contains("nested") == true)
        #expect(throws: CurlewError.self) { try PropertyListCheck.check(nested(513), options: .init()) }
        // A key is one level below its dictionary.
        try PropertyListCheck.check(nested(element.contains("key") ? 511 : 512), options: .init())
    }

    @Test(
        "an unterminated quote hides no tags from the depth check, as Foundation parses them and exhausts the stack",
        arguments: [
            "<plist><array \">", "<plist><array '>", "<plist \">", "<!DOCTYPE plist \"><plist>", "<plist></array \">",
            "<?xml version=\"?><plist>", "<plist><string \">", "<plist><true/ \">",
        ])
    func hiddenTags(_ opening: String) async throws {
        let text =
            opening + String(repeating: "<array>", count: 100_000) + String(repeating: "</array>", count: 100_000)
        #expect(try await fault(Array(text.utf8))?.contains("nested") == true)
    }

    @Test("an instruction without a name is refused, as Foundation ends it at its first bracket")
    func namelessInstruction() async throws {
        let arrays = String(repeating: "<array>", count: 100_000)
        #expect(try await fault(Array("<plist><?>\(arrays)".utf8))?.contains("no name") == true)
        try PropertyListCheck.check(
            Array("<?xml version=\"1.0\"?><plist><?a b?><true/></plist>".utf8), options: .init())
    }

    @Test("an empty tag of a key is refused, as Foundation reads its end tag and a level would be hidden")
    func emptyKey() async throws {
        let dictionaries = String(repeating: "<dict><key/></key>", count: 100_000)
        #expect(try await fault(Array("<plist>\(dictionaries)".utf8))?.contains("empty tag") == true)
        let text = "<plist><dict><key></key><string>a</string></dict></plist>"
        let response = try stubResponse(type: "application/x-plist", text)
        #expect(try await PropertyListResponseSerializer<[String: String]>().serialize(response) == ["": "a"])
    }

    @Test("quotes in text and in a document type are harmless")
    func quotes() async throws {
        let text =
            #"<!DOCTYPE plist PUBLIC "-//Apple" "x"><plist version='1.0'><array><string>a " ' &gt;</string></array></plist>"#
        let response = try stubResponse(type: "application/x-plist", text)
        #expect(try await PropertyListResponseSerializer<[String]>().serialize(response) == ["a \" ' >"])
    }

    @Test("declarations, other encodings and other formats are refused")
    func otherXML() async throws {
        let laughs = "<!DOCTYPE plist [<!ENTITY a \"lol\"><!ENTITY b \"&a;&a;\">]><plist><string>&b;</string></plist>"
        #expect(try await fault(Array(laughs.utf8))?.contains("declarations") == true)
        let wide: [UInt8] =
            [0xFF, 0xFE] + "<plist><dict/></plist>".utf16.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] }
        #expect(try await fault(wide) != nil)
        #expect(try await fault(Array("{ a = b; }".utf8))?.contains("neither XML nor binary") == true)
        _ = try await fault(Array("<plist><dict><key>a</key>".utf8))
        _ = try await fault(Array("<html></html>".utf8))
    }

    /// A binary list of these objects, the first of which is the top.
    private func binary(_ objects: [[UInt8]]) -> [UInt8] {
        var bytes = Array("bplist00".utf8)
        var offsets: [Int] = []
        for object in objects {
            offsets.append(bytes.count)
            bytes += object
        }
        let table = bytes.count
        for offset in offsets { bytes += (0..<4).map { UInt8(offset >> (24 - 8 * $0) & 255) } }
        bytes += [0, 0, 0, 0, 0, 0, 4, 2]
        for number in [objects.count, 0, table] { bytes += (0..<8).map { UInt8(number >> (56 - 8 * $0) & 255) } }
        return bytes
    }

    private func array(_ references: Int...) -> [UInt8] {
        [0xA0 | UInt8(references.count)] + references.flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] }
    }

    private static let marks = String(repeating: "\u{301}\u{316}", count: 65)

    @Test("a key with a long run of combining marks is refused in every form, because hashing it takes long")
    func longRuns() async throws {
        let references = Self.marks.unicodeScalars.map { "&#\($0.value);" }.joined()
        let keys = [Self.marks, references, "<![CDATA[\(Self.marks)]]>", "a<![CDATA[]]>\(references)"]
        for key in keys {
            let list = "<plist><dict><key>\(key)</key><true/></dict></plist>"
            #expect(try await fault(Array(list.utf8))?.contains("combining marks") == true, "\(key)")
        }
        let units = Array(Self.marks.utf16)
        let text: [UInt8] = [0x6F, 0x11, 0, UInt8(units.count)] + units.flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] }
        let dictionary: [UInt8] = [0xD1, 0, 1, 0, 2]
        #expect(try await fault(binary([dictionary, text, [0x08]]))?.contains("combining marks") == true)
        // The same text is harmless as a value.
        try PropertyListCheck.check(binary([array(1), text]), options: .init())
        let value = "<plist><dict><key>a\u{301}</key><string>\(Self.marks)</string></dict></plist>"
        try PropertyListCheck.check(Array(value.utf8), options: .init())
    }

    @Test("two keys that are canonically equal but have different code points are refused")
    func equalKeys() async throws {
        func list(_ keys: String...) -> [UInt8] {
            Array("<plist><dict>\(keys.map { "<key>\($0)</key><true/>" }.joined())</dict></plist>".utf8)
        }
        #expect(try await fault(list("\u{E9}", "e\u{301}"))?.contains("canonically equal") == true)
        try PropertyListCheck.check(list("\u{E9}", "e", "a\u{301}"), options: .init())
        // Dictionaries beside each other may have such keys.
        let both = ["\u{E9}", "e\u{301}"].map { "<dict><key>\($0)</key><true/></dict>" }.joined()
        try PropertyListCheck.check(Array("<plist><array>\(both)</array></plist>".utf8), options: .init())
        let dictionary: [UInt8] = [0xD2, 0, 1, 0, 2, 0, 3, 0, 3]
        let keys: [[UInt8]] = [[0x61, 0, 0xE9], [0x62, 0, 0x65, 0x03, 0x01]]
        #expect(try await fault(binary([dictionary] + keys + [[0x08]]))?.contains("canonically equal") == true)
    }

    @Test("a binary list of a few bytes has at most 100,000 values")
    func values() throws {
        // Five levels of ten shared arrays are 111,111 values; four levels are 11,111.
        func list(_ levels: Int) -> [UInt8] {
            binary((1...levels).map { array($0, $0, $0, $0, $0, $0, $0, $0, $0, $0) } + [[0x08]])
        }
        #expect(throws: CurlewError.self) { try PropertyListCheck.check(list(5), options: .init()) }
        try PropertyListCheck.check(list(4), options: .init())
    }

    @Test("a binary list with a reference to itself is refused")
    func loop() async throws {
        #expect(try await fault(binary([array(0)]))?.contains("itself") == true)
        #expect(try await fault(binary([array(1), array(2, 2), array(1)]))?.contains("itself") == true)
    }

    @Test("a binary list that would expand excessively is refused")
    func growth() async throws {
        let doubling: [[UInt8]] = (1...40).map { array($0, $0) } + [[0x08]]
        #expect(try await fault(binary(doubling))?.contains("values") == true)
        let long: [UInt8] = [0x5F, 0x12, 0, 1, 0, 0] + Array(repeating: 0x61, count: 65536)
        let references: [UInt8] = (0..<5000).flatMap { _ in [0, 1] as [UInt8] }
        #expect(
            try await fault(binary([[0xAF, 0x11, 0x13, 0x88] + references, long]))?.contains("larger than") == true)
        var options = PropertyListReadingOptions()
        options.expandedSize = 100
        #expect(
            try await fault(binary([array(1, 1, 1, 1, 1, 1), [0x08]]), options: options)?.contains("larger") == true)
    }

    @Test("a binary list that declares too many objects is refused before memory is allocated")
    func declared() async throws {
        var options = PropertyListReadingOptions()
        options.expandedSize = 160
        let objects: [[UInt8]] = [array(1)] + Array(repeating: [0x08], count: 10)
        #expect(try await fault(binary(objects), options: options)?.contains("larger than 160") == true)
        try PropertyListCheck.check(binary(objects.dropLast()), options: options)
    }

    @Test("a binary list may be nested only up to the limit")
    func deepBinary() async throws {
        func nested(_ depth: Int) -> [UInt8] { binary((1...depth).map { array($0) } + [[0x08]]) }
        #expect(try await fault(nested(20_000))?.contains("nested") == true)
        #expect(throws: CurlewError.self) { try PropertyListCheck.check(nested(513), options: .init()) }
        try PropertyListCheck.check(nested(512), options: .init())
    }

    @Test("the deepest list and the deepest JSON need less than half a thread's stack in Foundation's decoders")
    func stack() async throws {
        let xml = String(repeating: "<array>", count: 512) + String(repeating: "</array>", count: 512)
        let json = String(repeating: "[", count: 512) + String(repeating: "]", count: 512)
        let lists = [Array(xml.utf8), binary((1...512).map { array($0) } + [[0xA0]])]
        let areRead = await onThread(stackSize: 4 << 20) {
            let uri = try? CurlewURI("http://stub.test/")
            guard let uri else { return false }
            func response(_ body: [UInt8]) -> CurlewResponse.Collected {
                CurlewResponse.Collected(head: HTTPResponse(status: .ok), body: body, uri: uri)
            }
            for list in lists {
                guard (try? PropertyListResponseSerializer<Empty>().decode(response(list))) != nil else { return false }
            }
            return (try? JSONResponseSerializer<Empty>().decode(response(Array(json.utf8)))) != nil
        }
        #expect(areRead)
    }

    /// A type that decodes from any list.
    struct Empty: Decodable, Sendable {
        init(from decoder: any Decoder) throws {}
    }

    @Test("a truncated or changed binary list is harmless")
    func damaged() throws {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        let bytes = Array(try encoder.encode(settings))
        for count in 0..<bytes.count { #expect(throws: (any Error).self) { try decode(Array(bytes[..<count])) } }
        var generator = SeededNumbers(seed: 5)
        for _ in 0..<5000 {
            var changed = bytes
            for _ in 0..<3 {
                let index = Int.random(in: 8..<changed.count, using: &generator)
                changed[index] = UInt8.random(in: 0...255, using: &generator)
            }
            _ = try? decode(changed)
        }
    }

    private func decode(_ bytes: [UInt8]) throws -> Settings {
        try PropertyListResponseSerializer<Settings>().decode(
            CurlewResponse.Collected(head: HTTPResponse(status: .ok), body: bytes, uri: CurlewURI("http://stub.test/")))
    }
}
