import Foundation
import Testing

@testable import Probe

/// A probe in this process, driven line by line by one test.
final class ProbeDriver {
    private let probe: Probe
    private var lines: AsyncStream<[UInt8]>.Iterator
    private var early: [JSONValue] = []

    init() {
        let (stream, continuation) = AsyncStream.makeStream(of: [UInt8].self)
        lines = stream.makeAsyncIterator()
        probe = Probe { continuation.yield($0) }
    }

    func send(_ line: String) async { await probe.accept(.line(Array(line.utf8))) }

    func send(_ line: InputLine) async { await probe.accept(line) }

    func finish() async { await probe.finish() }

    /// The next answer as it was written.
    func nextLine() async throws -> String {
        let line = await lines.next(isolation: #isolation)
        return String(decoding: try #require(line), as: UTF8.self)
    }

    /// The answer with this id, after any others.
    func answer(to id: Int) async throws -> JSONValue {
        while true {
            if let index = early.firstIndex(where: { $0["id"] == .integer(id) }) { return early.remove(at: index) }
            early.append(try JSONReader.read(Array(try await nextLine().utf8)))
        }
    }

    /// Sends a line and waits for its single answer.
    func ask(_ line: String) async throws -> JSONValue {
        await send(line)
        return try JSONReader.read(Array(try await nextLine().utf8))
    }

    /// Fetches a URL, with further members as JSON text.
    func fetch(_ url: String, _ members: String = "") async throws -> JSONValue {
        try await ask(#"{"id":1,"url":"\#(url)"\#(members.isEmpty ? "" : ","+members)}"#)
    }
}

extension JSONValue {
    /// The members of an object whose values are strings.
    var skip: String? { string("skip") }
    var code: String? { string("code") }

    func string(_ name: String) -> String? {
        guard case .string(let text) = self[name] else { return nil }
        return text
    }

    func number(_ name: String) -> Double? {
        guard case .number(let digits) = self[name] else { return nil }
        return Double(digits)
    }

    /// The body of an answer.
    var bodyBytes: [UInt8]? { string("body").flatMap { Data(base64Encoded: $0) }.map { Array($0) } }

    var bodyText: String? { bodyBytes.map { String(decoding: $0, as: UTF8.self) } }

    /// A list of names and values.
    static func fields(_ fields: (String, String)...) -> JSONValue {
        .array(fields.map { .array([.string($0.0), .string($0.1)]) })
    }
}
