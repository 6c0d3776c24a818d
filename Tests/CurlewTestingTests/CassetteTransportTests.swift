import Curlew
import HTTPTypes
import Testing

@testable import CurlewTesting

@Suite("CassetteTransport", .timeLimit(.minutes(1)))
struct CassetteTransportTests {
    private let folder: ScratchFolder
    private let stub = StubTransport { _ in .response(body: "from the server") }

    init() throws { self.folder = try ScratchFolder() }

    private func cassette(
        _ mode: CassetteTransport.Mode = .fromEnvironment, _ environment: [String: String] = [:],
        path: String = "a.json"
    ) throws -> CassetteTransport {
        try CassetteTransport(
            path, mode: mode, replay: .strict, matching: nil, masking: Recording.Masking(),
            sourceFile: self.folder.file("Tests.swift"), environment: environment, over: { self.stub })
    }

    private func get(_ cassette: CassetteTransport) async throws -> String {
        let api = try HTTPSession(baseURL: "https://api.test/", transport: cassette, chain: .bare)
        return try await api.get("a", as: .text)
    }

    @Test("the first use asks the server and writes the file beside the test, and the next use needs no server")
    func recordIfMissing() async throws {
        for isRecording in [true, false] {
            let cassette = try self.cassette()
            #expect(cassette.isRecording == isRecording && cassette.path == self.folder.file("a.json"))
            #expect(try await self.get(cassette) == "from the server")
            try await cassette.finish()
        }
        #expect(self.stub.received.count == 1 && self.folder.names == ["a.json"])
        let unused = try self.cassette()
        await #expect(throws: TestKitError.self) { try await unused.finish() }
    }

    @Test("an unfinished recording writes no file, and mode record replaces an existing file")
    func record() async throws {
        _ = try await self.get(try self.cassette())
        #expect(self.folder.names.isEmpty)
        try Recording().write(to: self.folder.file("a.json"))
        let cassette = try self.cassette(.record)
        _ = try await self.get(cassette)
        #expect(try Recording(contentsOf: cassette.path).exchanges.isEmpty)
        try await cassette.finish()
        #expect(try Recording(contentsOf: cassette.path).exchanges.count == 1)
    }

    @Test(
        "the environment determines the mode, unless the test sets it",
        arguments: [
            ([:], true), (["CI": ""], true), (["CI": "false"], true), (["CI": "0"], true), (["CI": "true"], false),
            (["CI": "1", "CURLEW_CASSETTES": "record"], true),
            (["CURLEW_CASSETTES": "record-if-missing", "CI": "1"], true),
            (["CURLEW_CASSETTES": "replay"], false), (["CURLEW_CASSETTES": "play"], nil),
        ] as [([String: String], Bool?)])
    func environment(variables: [String: String], records: Bool?) throws {
        if records == true {
            #expect(try self.cassette(.fromEnvironment, variables).isRecording)
        } else {
            let error = #expect(throws: CurlewError.self) { try self.cassette(.fromEnvironment, variables) }
            #expect(error?.code == .recordingFailed && error?.message.contains("CURLEW_CASSETTES") == true)
        }
        #expect(try self.cassette(.recordIfMissing, ["CI": "1"]).isRecording)
    }

    @Test("a missing folder for the recording fails the test before it asks the server")
    func missingFolder() throws {
        let error = #expect(throws: CurlewError.self) { try self.cassette(path: "nowhere/a.json") }
        #expect(error?.message.contains(self.folder.file("nowhere/a.json")) == true)
        #expect(error?.code == .recordingFailed)
    }
}
