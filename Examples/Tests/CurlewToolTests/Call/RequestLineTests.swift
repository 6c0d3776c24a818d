import ArgumentParser
import Curlew
import Foundation
import HTTPTypes
import Testing

@testable import CurlewTool

@Suite("The words of a call")
struct RequestLineTests {
    private func line(_ words: String...) throws -> RequestLine {
        let call = try #require(try CurlewTool.parseAsRoot(CurlewTool.words(words)) as? Call)
        return try RequestLine(call.words, call.request)
    }

    @Test(
        "an item is read by its first separator",
        arguments: [
            ("A:b", .field("A", .text("b"))), ("A:b=c", .field("A", .text("b=c"))), ("A:", .field("A", nil)),
            ("A;", .field("A", .text(""))), ("a=b:c", .member("a", .text("b:c"))), ("a=", .member("a", .text(""))),
            ("a:=[1]", .json("a", .text("[1]"))), ("a==b c", .query("a", .text("b c"))),
            ("a=@f", .member("a", .file("f"))), ("a:=@f", .json("a", .file("f"))), ("a==@f", .query("a", .file("f"))),
            ("A:@f", .field("A", .file("f"))), ("a@f.png", .file("a", path: "f.png", type: nil)),
            ("a@f;type=image/png", .file("a", path: "f", type: "image/png")), ("@f", .body("f")), ("@-", .body("-")),
            (#"a\:b=c"#, .member("a:b", .text("c"))), (#"a\=b==c"#, .query("a=b", .text("c"))),
        ] as [(String, RequestItem)])
    func items(word: String, item: RequestItem) throws {
        #expect(try RequestItem(word) == item)
    }

    @Test(
        "a word other than an item is refused",
        arguments: [
            "word", "=a", ":a", ":=1", "==a", "a@", "@", "http://b.test/", "", "b.test:80/x", "127.0.0.1:8080",
            "localhost:1/",
        ])
    func noItems(word: String) {
        #expect(throws: ValidationError.self) { try RequestItem(word) }
    }

    @Test("joined short options are separated, and their values stay as they are")
    func shortOptions() {
        #expect(
            CommandWords.rewritten(["-sSLo", "-x", "-XPOST", "-HA: -b", "u", "--", "-i"])
                == ["-s", "-S", "-L", "-o", "-x", "-X", "POST", "-H", "A: -b", "u", "--", "-i"])
        #expect(CommandWords.rewritten(["--user-agent", "-sS", "-o"]) == ["--user-agent", "-sS", "-o"])
        #expect(CommandWords.rewritten(["-", "--max-time=3"]) == ["-", "--max-time", "3"])
    }

    @Test("the lists of options with a value have every such option of the call")
    func valuedOptions() throws {
        struct Dump: Decodable {
            struct Command: Decodable {
                var arguments: [Argument]
            }
            struct Argument: Decodable {
                var kind: String
                var names: [Name]?
            }
            struct Name: Decodable {
                var kind: String
                var name: String
            }
            var command: Command
        }
        let dump = try JSONDecoder().decode(Dump.self, from: Data(Call._dumpHelp().utf8))
        let names = dump.command.arguments.filter { $0.kind == "option" }.flatMap { $0.names ?? [] }
        #expect(CommandWords.longValued == Set(names.filter { $0.kind == "long" }.map(\.name)))
        #expect(CommandWords.shortValued == Set(names.filter { $0.kind == "short" }.flatMap(\.name)))
    }

    @Test("pieces of data keep their order and their kinds")
    func data() throws {
        let pieces = [DataPiece(.plain, "a=1"), DataPiece(.raw, "@b"), DataPiece(.encoded, "c=d e")]
        #expect(
            try line("u.test", "-d", "a=1", "--data-raw", "@b", "--data-urlencode=c=d e").content == .data(pieces))
    }

    @Test(
        "the method is given, or follows from the body",
        arguments: [
            (["u.test"], "GET"), (["u.test", "a=b"], "POST"), (["u.test", "a==b"], "GET"), (["u.test", "A:b"], "GET"),
            (["u.test", "-d", "a"], "POST"), (["u.test", "--json", "{}"], "POST"), (["u.test", "-F", "a=b"], "POST"),
            (["u.test", "-T", "f"], "PUT"), (["u.test", "@f"], "POST"), (["put", "u.test", "a=b"], "PUT"),
            (["PURGE", "u.test"], "PURGE"), (["localhost", "a=b"], "POST"), (["-I", "u.test"], "HEAD"),
            (["-X", "DELETE", "u.test"], "DELETE"), (["-G", "-d", "a=b", "u.test"], "GET"), (["get", "u.test"], "GET"),
            (["get", "u.test", "a=b"], "POST"), (["get", "PATCH", "u.test"], "PATCH"),
        ] as [([String], String)])
    func methods(words: [String], method: String) throws {
        let call = try #require(try CurlewTool.parseAsRoot(CurlewTool.words(words)) as? Call)
        #expect(try RequestLine(call.words, call.request).method.rawValue == method)
    }

    @Test(
        "http:// is assumed, and a port alone is on this machine",
        arguments: [
            ("a.test/x", "http://a.test/x"), ("localhost:80", "http://localhost:80"),
            (":8080/x", "http://localhost:8080/x"),
            (":/x", "http://localhost/x"), ("//a.test", "http://a.test"), ("https://a.test", "https://a.test"),
            ("ftp://a.test", "ftp://a.test"), ("127.0.0.1", "http://127.0.0.1"), ("[::1]:80", "http://[::1]:80"),
        ])
    func urls(word: String, url: String) {
        #expect(RequestLine.absolute(word) == url)
    }

    @Test("a subcommand wins over a host of its name")
    func subcommands() throws {
        #expect(try CurlewTool.parseAsRoot(CurlewTool.words(["queue"])) is CurlewTool == false)
        #expect(try CurlewTool.parseAsRoot(CurlewTool.words(["queue"])) is Call == false)
        #expect(try line("http://queue").url == "http://queue")
        #expect(try line("-i", "queue").url == "http://queue")
    }

    @Test(
        "a contradictory or incomplete command line is refused",
        arguments: [
            ["get"], ["-i"], ["u.test", "-d", "a", "b=c"], ["u.test", "-d", "a", "--json", "{}"],
            ["u.test", "-F", "a=b", "-d", "a"],
            ["u.test", "@f", "a=b"], ["u.test", "@f", "@g"], ["u.test", "a@f", "b:=1"], ["-I", "u.test", "a=b"],
            ["post", "u.test", "-X", "PUT"], ["-G", "u.test", "a=b"], ["u.test", "http://b.test/"],
            ["u.test", "-o", "a", "-O"],
            ["u.test", "--http1.1", "--http2"], ["u.test", "-4", "-6"], ["u.test", "-H", "nothing"],
            ["u.test", "-H", "a b: c"],
            ["u.test", "--key", "k"],
            ["u.test", "-f", "--fail-with-body"], ["u.test", "-m", "0"], ["u.test", "--color", "red"],
            ["u.test", "-b", "jar"], ["u.test", "Accept:"],
            ["u.test", "--events", "-o", "f"], ["u.test", "--nonsense"],
        ])
    func refusals(words: [String]) {
        #expect(throws: (any Error).self) { try CurlewTool.parseAsRoot(CurlewTool.words(words)) }
    }

    @Test("an unknown option is answered with a similar one")
    func suggestion() throws {
        let error = #expect(throws: (any Error).self) {
            try CurlewTool.parseAsRoot(CurlewTool.words(["u.test", "--heder", "A: b"]))
        }
        #expect(CurlewTool.fullMessage(for: try #require(error)).contains("Did you mean '--header'?"))
    }

    @Test("a part of a form has a text, a file or the text of a file, a type and a name")
    func parts() throws {
        #expect(FormPart(argument: "a=b;c") == FormPart(name: "a", content: .text("b;c")))
        #expect(FormPart(argument: "a=@f;type=x/y") == FormPart(name: "a", content: .file("f"), type: "x/y"))
        var named = FormPart(name: "a", content: .file("f"), type: "x/y")
        named.fileName = "g"
        #expect(FormPart(argument: "a=@f;filename=g;type=x/y") == named)
        #expect(FormPart(argument: "a=@f;type=x/y;charset=z;filename=g")?.type == "x/y;charset=z")
        #expect(FormPart(argument: "a=<f") == FormPart(name: "a", content: .textOfFile("f")))
        #expect(FormPart(argument: "a") == nil && FormPart(argument: "=b") == nil && FormPart(argument: "a=@") == nil)
    }

    @Test(
        "a part is written as curl reads it",
        arguments: ["plain", "a;type=b", "@text", "<text", #"a "quoted" \ text"#, " spaces ", "", "line\nline", "a,b"])
    func writtenParts(text: String) throws {
        for content in [FormPart.Content.text(text), .textOfFile("f\(text)"), .file("f\(text)")] {
            var part = FormPart(name: "a", content: content, type: "x/y")
            part.fileName = text
            #expect(FormPart(argument: part.word) == part, "\(part.word)")
        }
    }

    @Test("the help has all exit statuses, and fits 80 columns")
    func help() {
        let text = Call.helpMessage(columns: 80)
        for code in ["  6  ", " 22  ", " 28  ", " 60  ", "130  "] { #expect(text.contains(code), "\(code)") }
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 80 }, "\(text)")
    }
}
