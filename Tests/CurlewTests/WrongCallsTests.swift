import Foundation
import TestHelpers
import Testing

/// Mistakes in daily calls, and the compiler's messages about them. If a message is misleading, an unavailable overload
/// replaces it by a helpful sentence (`HTTPSession+WrongCalls.swift`). After a change of a verb's signature, this table
/// shows the messages that a user will read.
@Suite("The compiler's messages about wrong calls", .enabled(if: WrongCall.canBeJudged))
struct WrongCallsTests {
    @Test("each mistake causes the message of its row")
    func messages() throws {
        let messages = try WrongCall.compile(WrongCall.all)
        for (call, found) in zip(WrongCall.all, messages) {
            #expect(found.contains(call.message), "\(call.code)\nsays: \(found)")
        }
    }

    @Test("a correct call has no message")
    func correct() throws {
        let calls = [
            WrongCall(#"_ = try await api.get("users/\(text)", as: User.self)"#, ""),
            WrongCall(#"_ = try await api.call(pair, "octo", "hello")"#, ""),
        ]
        #expect(try WrongCall.compile(calls) == [[], []])
    }
}

/// A call that does not compile.
private struct WrongCall: Sendable {
    let code: String
    /// The message, as Swift 6.3 words it.
    let message: String

    init(_ code: String, _ message: String) {
        self.code = code
        self.message = message
    }

    static let canBeJudged: Bool = {
        #if swift(>=6.3) && !swift(>=6.4)
        true
        #else
        // Another compiler words its messages in another way.
        false
        #endif
    }()

    private static let oneContent =
        "is unavailable: a request has one content: parameters: is its body in this method; values for its URL go into query:"
    private static let describesItself =
        "'appendInterpolation' is unavailable: a value in a URL has to describe itself (CustomStringConvertible): unwrap an optional, or put it into parameters, where nil leaves the pair out"

    static let all: [WrongCall] = [
        // The reference: `.raw(text)`, `.uri(uri)`, or an interpolation.
        WrongCall(
            "_ = try await api.get(text)",
            "cannot convert value of type 'String' to expected argument type 'URIReference'"),
        WrongCall(
            "_ = try await api.get(uri)",
            "cannot convert value of type 'CurlewURI' to expected argument type 'URIReference'"),
        WrongCall(#"_ = try await api.get("users/\(maybe)", as: User.self)"#, describesItself),
        WrongCall(#"_ = try await api.get("users/\(plain)", as: User.self)"#, describesItself),
        WrongCall(
            #"_ = try await api.get("users/\(path: text)")"#,
            "'appendInterpolation(path:)' is unavailable: a value needs no label: it is escaped for the path or the query that contains it; raw: inserts text without escaping"
        ),
        // The result: `as: User.self`, `as: .text`.
        WrongCall(
            #"_ = try await api.get("users/7", as: Plain.self)"#,
            "instance method 'get(_:parameters:encoding:query:as:fields:credential:timeout:options:)' requires that 'Plain' conform to 'Decodable'"
        ),
        WrongCall(
            #"_ = try await api.get("users/7", as: user)"#,
            "instance method 'get(_:parameters:encoding:query:as:fields:credential:timeout:options:)' requires that 'User' conform to 'ResponseSerializer'"
        ),
        WrongCall(
            #"_ = try await api.get("users/7", as: .string)"#, "type 'ResponseSerializer' has no member 'string'"),
        WrongCall(
            #"_ = try await api.get("users/7", serializer: .text)"#, "extraneous argument label 'serializer:' in call"),
        WrongCall(
            #"let user: User = try await api.get("users/7")"#,
            "cannot convert value of type 'CurlewResponse' to specified type 'User'"),
        WrongCall(
            #"let done: Bool = try await api.delete("users/7", as: .nothing)"#,
            "cannot convert value of type '()' to specified type 'Bool'"),
        WrongCall(#"_ = try await api.head("users", as: .text)"#, "extra argument 'as' in call"),
        // The content: `.json(user)`, `parameters: .encoding(user)`.
        WrongCall(
            #"_ = try await api.post("users", user)"#,
            "cannot convert value of type 'User' to expected argument type 'CurlewRequest.Content'"),
        WrongCall(#"_ = try await api.post("users", body: .json(user))"#, "extraneous argument label 'body:' in call"),
        WrongCall(#"_ = try await api.post("users", json: user)"#, "extraneous argument label 'json:' in call"),
        WrongCall(
            #"_ = try await api.get("users", parameters: user, as: [User].self)"#,
            "cannot convert value of type 'User' to expected argument type 'RequestParameters'"),
        WrongCall(
            #"_ = try await api.get("users", .json(user), as: User.self)"#,
            "'get(_:_:query:as:)' is unavailable: a GET request has no content: values for its URL go into parameters: or query:; send(request) takes any"
        ),
        WrongCall(
            #"_ = try await api.post("users", .json(user), parameters: ["a": 1])"#,
            "'post(_:_:parameters:as:)' \(oneContent)"),
        WrongCall(
            #"_ = try await api.put("users", .json(user), parameters: ["a": 1], as: User.self)"#,
            "'put(_:_:parameters:as:)' \(oneContent)"),
        WrongCall(
            #"_ = try await api.patch("users", .file(text), parameters: ["a": 1])"#,
            "'patch(_:_:parameters:as:)' \(oneContent)"),
        // The other arguments: `fields:`, `.seconds(5)`, `.sha256(text)`.
        WrongCall(#"_ = try await api.get("users", headers: ["A": "b"])"#, "extra argument 'headers' in call"),
        WrongCall(
            #"_ = try await api.get("users", timeout: 5)"#,
            "cannot convert value of type 'Int' to expected argument type 'Duration'"),
        WrongCall(
            #"_ = try await api.download("x", to: .folder(text), integrity: "9f86")"#,
            "cannot convert value of type 'String' to expected argument type 'IntegrityRequirement'"),
        WrongCall(
            #"_ = try await api.call(endpoint, "7")"#,
            "cannot convert value of type 'String' to expected argument type 'Int'"),
        WrongCall(
            #"_ = try await api.upload("users", from: .text(text))"#, "extraneous argument label 'from:' in call"),
        WrongCall(
            #"_ = try await api.download("x", to: .folder(text)) { (step: DownloadTask.Progress) in print(step) }"#,
            "cannot convert value of type '@Sendable (DownloadTask.Progress) -> ()' to expected argument type '@Sendable (TaskProgress) -> Void'"
        ),
        // Concurrency and errors.
        WrongCall(#"_ = try api.get("users")"#, "expression is 'async' but is not marked with 'await'"),
        WrongCall(
            "_ = Link { request, next in next(request) }",
            "expression is 'async' but is not marked with 'await'"),
        WrongCall(
            "_ = ContentDigest(hex: text)",
            "call can throw but is not marked with 'try'"),
        WrongCall("_ = policy.pins", "value of type 'SecurityPolicy' has no member 'pins'"),
    ]

    /// The messages of the compiler to each call.
    static func compile(_ calls: [WrongCall]) throws -> [[String]] {
        let folder = FileManager.default.temporaryDirectory.appending(path: "curlew-calls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "Calls.swift")
        var lines = [
            "import Curlew", "struct User: Codable, Sendable { var id: Int }", "struct Plain: Sendable {}",
            """
            struct Calls { var api: HTTPSession; var text: String; var maybe: String?; var user: User; var plain: Plain; \
            var uri: CurlewURI; var policy: SecurityPolicy; var endpoint: Endpoint<Int, User>; \
            var pair: Endpoint<(String, String), User>
            """,
        ]
        let first = lines.count + 1
        lines += calls.enumerated().map { "func call\($0.offset)() async throws { \($0.element.code) }" } + ["}"]
        try lines.joined(separator: "\n").write(to: file, atomically: true, encoding: .utf8)
        let output = try typecheck(file)
        var messages = Array(repeating: [String](), count: calls.count)
        for line in output.split(separator: "\n") {
            guard let match = line.firstMatch(of: /Calls\.swift:(\d+):\d+: error: (.*)/), let number = Int(match.1)
            else {
                continue
            }
            let index = number - first
            guard messages.indices.contains(index) else { throw Failure(output: output) }
            messages[index].append(String(match.2))
        }
        return messages
    }

    private struct Failure: Error {
        let output: String
    }

    private static func typecheck(_ file: URL) throws -> String {
        let modules = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().appending(
            path: "Modules")
        let maps = try Repository.moduleMaps().flatMap { ["-Xcc", "-fmodule-map-file=\($0)"] }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments =
            ["swiftc", "-typecheck", "-swift-version", "6", "-I", modules.path] + maps + [file.path]
        let pipe = Pipe()
        process.standardError = pipe
        process.standardOutput = pipe
        try process.run()
        let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return String(decoding: output, as: UTF8.self)
    }
}
