import Curlew
import CurlewXML
import Foundation
import FoundationXML
import Glibc
import HTTPTypes
import Testing

@Suite("XML", .timeLimit(.minutes(1)))
struct XMLTests {
    private func response(_ text: String, type: String = "application/xml") throws -> CurlewResponse {
        CurlewResponse(
            .ok, fields: [.contentType: type], body: .bytes(Array(text.utf8)), uri: try CurlewURI("http://stub.test/"))
    }

    /// The error of parsing `text` as a tree.
    private func fault(_ text: String) async throws -> CurlewError? {
        do {
            _ = try await XMLTreeResponseSerializer().serialize(response(text))
            return nil
        } catch let error as CurlewError {
            return error
        }
    }

    private func message(_ error: CurlewError?) -> String { (error?.underlying as? CurlewError)?.message ?? "" }

    @Test("a document becomes a tree with namespaces, text, CDATA and attributes")
    func tree() async throws {
        let text = """
            <?xml version="1.0"?><!-- outside --><l:birds xmlns:l="urn:list"><bird id="7">Numenius &amp; <![CDATA[<co>]]>\
            </bird><bird id="8"/><?sort up?></l:birds>
            """
        let tree = try await XMLTreeResponseSerializer().serialize(response(text))
        #expect(tree.root.name == XMLName("birds", namespace: "urn:list", qualified: "l:birds"))
        #expect(tree.root.all("bird").map { $0.attributes["id"] } == ["7", "8"])
        #expect(tree.root["bird"]?.text == "Numenius & <co>")
        #expect(tree.root.children.last == .instruction(target: "sort", data: "up"))
        let document = tree.makeDocument()
        try withExtendedLifetime(document) {
            let found = try document.nodes(forXPath: "//bird[@id='7']").map(\.stringValue)
            #expect(found == ["Numenius & <co>"])
        }
    }

    @Test("a model is decoded by XMLCoder")
    func model() async throws {
        struct Birds: Decodable, Sendable, Equatable {
            struct Bird: Decodable, Sendable, Equatable { var name: String }

            var bird: [Bird]
        }
        let text = "<birds><bird><name>Numenius</name></bird><bird><name>Tringa</name></bird></birds>"
        let birds = try await XMLResponseSerializer<Birds>().serialize(response(text, type: "application/atom+xml"))
        #expect(birds == Birds(bird: [.init(name: "Numenius"), .init(name: "Tringa")]))
    }

    @Test("events are delivered in document order, up to the error")
    func events() async throws {
        var seen: [XMLEvent] = []
        let body = CurlewResponse.Body.bytes(Array("<a>x<b k=\"v\"/>y</a>".utf8))
        for try await event in body.xmlEvents() { seen.append(event) }
        let a = XMLName("a")
        let b = XMLName("b")
        #expect(
            seen == [
                .start(a, attributes: [:]), .text("x"), .start(b, attributes: ["k": "v"]), .end(b), .text("y"), .end(a),
            ])
        var iterator = CurlewResponse.Body.bytes(Array("<a>x<b>".utf8)).xmlEvents().makeAsyncIterator()
        #expect(try await iterator.next() == .start(a, attributes: [:]))
        #expect(try await iterator.next() == .text("x"))
        #expect(try await iterator.next() == .start(b, attributes: [:]))
        await #expect(throws: CurlewError.self) { try await iterator.next() }
        #expect(try await iterator.next() == nil)
    }

    @Test(
        "malformed text is an error",
        arguments: ["<a>", "<a></b>", "<a><b></a>", "text", "<a/><b/>", "<a k=1/>", "<a>&nope;</a>", "<", "<!--"])
    func malformed(_ text: String) async throws {
        let error = try await fault(text)
        #expect(error?.code == .decodingFailed)
        #expect(error?.bodyPrefix == Array(text.utf8))
    }

    @Test("a name with a long run of combining marks is refused, because hashing it takes long")
    func longRuns() async throws {
        let marks = String(repeating: "\u{301}\u{316}", count: 65)
        let texts = [
            "<a x\(marks)='1'/>", "<a b='c' x\(marks) = '1'/>", "<x\(marks)/>", "<a><x\(marks)></x\(marks)></a>",
            // Foundation's parser continues after the error in each of these texts, and finds the element `b`.
            "<a><?1 <b x\(marks)='1'/> ?></a>", "<a><!-- \u{1} <b x\(marks)='1'/> --></a>",
            "<a k=\"<b x\(marks)='1'/>",
        ]
        for text in texts {
            #expect(message(try await fault(text)).contains("combining marks"))
        }
        let value = try await XMLTreeResponseSerializer().serialize(response("<a b='\(marks)'>\(marks)</a>"))
        #expect(value.root.text == marks && value.root.attributes["b"] == marks)
        for text in ["<a>e\(marks) x = 1</a>", "<a><![CDATA[\(marks)]]><!--\(marks)--></a>"] {
            #expect(try await fault(text) == nil)
        }
    }

    @Test("two attributes whose names are canonically equal are refused, because one of them would be lost")
    func equalNames() async throws {
        #expect(message(try await fault("<a \u{E9}='1' e\u{301}='2'/>")).contains("canonically equal"))
        let tree = try await XMLTreeResponseSerializer().serialize(response("<a><b \u{E9}='1'/><b e\u{301}='2'/></a>"))
        #expect(tree.root.all("b").count == 2)
    }

    @Test(
        "the name of a namespace may be relative or no URI",
        arguments: ["u", "svg", "foo/bar", "/abs", "http://ex\u{E4}mple/", "http://x y", "http://[x"])
    func namespaceNames(_ name: String) async throws {
        for (text, qualified) in [("<a xmlns='\(name)'/>", "a"), ("<p:a xmlns:p='\(name)'/>", "p:a")] {
            let tree = try await XMLTreeResponseSerializer().serialize(response(text))
            #expect(tree.root.name == XMLName("a", namespace: name, qualified: qualified))
        }
        // Other errors in such a document still count.
        let rest = [
            "<a xmlns='\(name)'>", "<a xmlns='\(name)'/>x", "<a xmlns='\(name)' b=1/>", "<a xmlns='\(name)'></b>",
            "<a xmlns='\(name)'>&nothing;</a>", "<a xmlns='\(name)'/><b/>", "<a xmlns='\(name)'><b c='1' c='2'/></a>",
            "<a xmlns='\(name)'><p:b/></a>", "<a xmlns='\(name)'>\u{1}</a>",
        ]
        for text in rest { #expect(try await fault(text) != nil, "\(text)") }
    }

    @Test("an empty body has its own error, and another media type is refused")
    func wrong() async throws {
        #expect(try await fault("")?.code == .emptyBody)
        await #expect(throws: CurlewError.self) {
            try await XMLTreeResponseSerializer().serialize(response("<html/>", type: "text/html"))
        }
    }

    /// Entities that each expand to ten of the previous one.
    private var laughs: String {
        let entities = (1...12).map { level in
            "<!ENTITY l\(level) \"\(String(repeating: "&l\(level - 1);", count: 10))\">"
        }
        return "<!DOCTYPE a [<!ENTITY l0 \"lol\">\(entities.joined())]>"
    }

    @Test("recursive entity expansion is refused at its declarations")
    func entities() async throws {
        let large = String(repeating: "x", count: 100_000)
        let references = String(repeating: "&e;", count: 10_000)
        let quadratic = "<!DOCTYPE a [<!ENTITY e \"\(large)\">]><a>\(references)</a>"
        for text in [laughs + "<a>&l12;</a>", laughs + "<a k=\"&l12;\"/>", quadratic, "<!DOCTYPE a [ ]><a/>"] {
            #expect(message(try await fault(text)).contains("declarations"))
        }
        // libxml2 would continue after `<?`, and read the declarations.
        let hidden = "<?<!DOCTYPE a [<!ENTITY e \"x\">]><a>&e;</a><!-- ?>-->"
        #expect(message(try await fault(hidden)).contains("instruction has no name"))
        #expect(try await fault("<!DOCTYPE a SYSTEM \"[y]\"><a>&amp;&#65;</a>") == nil)
    }

    @Test("an external entity or document type is not fetched")
    func external() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "curlew-\(UUID().uuidString).txt")
        try Data("<!ENTITY e \"secret\">".utf8).write(to: path)
        defer { try? FileManager.default.removeItem(at: path) }
        let texts = [
            "<!DOCTYPE a [<!ENTITY e SYSTEM \"\(path.absoluteString)\">]><a>&e;</a>",
            "<!DOCTYPE a SYSTEM \"\(path.absoluteString)\"><a>&e;</a>",
            "<!DOCTYPE a [<!ENTITY % p SYSTEM \"\(path.absoluteString)\"> %p;]><a>&e;</a>",
        ]
        for text in texts { #expect(try await fault(text)?.code == .decodingFailed) }
        let unused = try XMLTree(parsing: Array("<!DOCTYPE a SYSTEM \"\(path.absoluteString)\"><a>x</a>".utf8))
        #expect(unused.root.text == "x")
    }

    @Test("a document causes no network request, with any reader")
    func network() async throws {
        struct Bird: Decodable, Sendable, Equatable { var name: String }
        let listener = try SilentListener()
        let host = "http://127.0.0.1:\(listener.port)"
        let bird =
            "<bird xmlns:xi=\"http://www.w3.org/2001/XInclude\" xmlns:s=\"http://www.w3.org/2001/XMLSchema-instance\" s:schemaLocation=\"a \(host)/a.xsd\"><name>Numenius</name></bird>"
        let texts = [
            "<!DOCTYPE bird SYSTEM \"\(host)/a.dtd\">\(bird)", "<!DOCTYPE bird PUBLIC \"a\" \"\(host)/a.dtd\">\(bird)",
            "<?xml-stylesheet href=\"\(host)/a.xsl\"?>\(bird)",
            bird.replacing("</bird>", with: "<xi:include href=\"\(host)/a.xml\"/></bird>"),
        ]
        for text in texts {
            #expect(try await XMLResponseSerializer<Bird>().serialize(response(text)) == Bird(name: "Numenius"))
            let tree = try await XMLTreeResponseSerializer().serialize(response(text))
            let document = tree.makeDocument()
            withExtendedLifetime(document) { #expect(document.rootElement()?.name == "bird") }
        }
        #expect(!listener.wasAsked)
    }

    /// A listener on a free local port that never answers.
    private final class SilentListener {
        private let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        let port: UInt16

        init() throws {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let descriptor = descriptor
            let isListening = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    bind(descriptor, address, length) == 0 && listen(descriptor, 4) == 0
                        && getsockname(descriptor, address, &length) == 0
                }
            }
            port = UInt16(bigEndian: address.sin_port)
            try #require(isListening)
        }

        deinit { close(descriptor) }

        /// True if a connection waits to be accepted.
        var wasAsked: Bool {
            var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            return poll(&request, 1, 0) != 0
        }
    }

    @Test("elements may be nested only up to the limit")
    func depth() async throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "<a>", count: depth) + String(repeating: "</a>", count: depth)
        }
        #expect(try await fault(nested(512)) == nil)
        #expect(message(try await fault(nested(513))).contains("nested"))
        #expect(message(try await fault(nested(100_000))).contains("nested"))
        #expect(try await fault("<a>" + String(repeating: "<b></b><c/>", count: 5000) + "</a>") == nil)
        #expect(try await fault("<a><!-- \(nested(600)) --><![CDATA[\(nested(600))]]></a>") == nil)
    }

    @Test("the byte order mark, the field or the declaration sets the encoding, and hides no tags")
    func encodings() throws {
        let text = "<?xml version=\"1.0\" encoding=\"UTF-16\"?><a>é</a>"
        let utf16: [UInt8] = [0xFE, 0xFF] + text.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] }
        #expect(try XMLTree(parsing: utf16).root.text == "é")
        let latin = Array("<?xml version='1.0' encoding='iso-8859-1'?><a>".utf8) + [0xE9] + Array("</a>".utf8)
        #expect(try XMLTree(parsing: latin).root.text == "é")
        let hidden = "<?xml version=\"1.0\" encoding=\"UTF-7\"?>+ADwAIQ-DOCTYPE a+AD4-<a/>"
        #expect(throws: CurlewError.self) { try XMLTree(parsing: Array(hidden.utf8)) }
    }

    @Test(
        "no second declaration sets another encoding for the parser",
        arguments: [
            "<?xml ?><?xml version=\"1.0\" encoding=\"UTF-7\"?>",
            "<?xml ?>\u{FEFF}<?xml version=\"1.0\" encoding=\"UTF-7\"?>",
            "<?xml version=\"1.0\"\(String(repeating: " ", count: 2000))encoding=\"UTF-7\"?>",
            "\u{FEFF}\u{FEFF}<?xml version=\"1.0\" encoding=\"UTF-7\"?>",
        ])
    func declarations(_ start: String) throws {
        let text = start + "+ADwAIQ-DOCTYPE a +AFsAPAAh-ENTITY e \"x\"+AD4AXQA+-<a>&e;</a>"
        #expect(throws: CurlewError.self) { try XMLTree(parsing: Array(text.utf8)) }
    }

    @Test("a declaration with long blanks, and a byte order mark, are no part of the document")
    func removed() throws {
        let long = "<?xml version=\"1.0\"\(String(repeating: " ", count: 2000))encoding=\"UTF-8\"?><a>é</a>"
        #expect(try XMLTree(parsing: Array(long.utf8)).root.text == "é")
        let marked = "\u{FEFF}\u{FEFF}<?xml version=\"1.0\"?><a>é</a>"
        #expect(try XMLTree(parsing: Array(marked.utf8)).root.text == "é")
    }
}
