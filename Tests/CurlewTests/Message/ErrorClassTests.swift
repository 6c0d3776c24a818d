import Curlew
import CurlewTesting
import HTTPTypes
import TestHelpers
import Testing

@Suite("The classes of errors")
struct ErrorClassTests {
    private func codes() throws -> [ErrorCode] {
        let source = try Repository.text(of: "Sources/CurlewCore/Message/ErrorCode.swift")
        return source.split(separator: "\n").filter { $0.contains("public static let") }
            .map { ErrorCode(rawValue: String($0.split(separator: "\"")[1])) }
    }

    private func error(_ status: HTTPResponse.Status) async throws -> CurlewError? {
        let stub = StubTransport { _ in .response(status) }
        let session = try HTTPSession(transport: stub, chain: .bare) { Link { try await $1($0) } }
        return await curlewError { _ = try await session.get("http://a.test/", as: JSONValue.self) }
    }

    @Test("exactly the codes with the suffix -timeout are timeouts")
    func timeouts() throws {
        for code in try codes() {
            #expect(code.isTimeout == code.rawValue.hasSuffix("-timeout"), "\(code)")
            #expect(CurlewError(code, "").isTimeout == code.isTimeout)
        }
    }

    @Test("an error has the classes of its code")
    func codesAndErrors() throws {
        for code in try codes() {
            let error = CurlewError(code, "")
            #expect(error.isTransient == code.isTransient && error.isConnectFailure == code.isConnectFailure)
            #expect(error.isTrustFailure == code.isTrustFailure && error.isCancellation == (code == .cancelled))
            #expect(error.status == nil)
        }
    }

    @Test("the documentation of a class lists exactly its codes")
    func documentation() throws {
        let source = try Repository.text(of: "Sources/CurlewCore/Message/ErrorCode+Classes.swift")
        let codes = try Repository.text(of: "Sources/CurlewCore/Message/ErrorCode.swift").split(separator: "\n")
            .filter { $0.contains("public static let") }
            .map {
                (
                    name: $0.split(separator: "public static let ")[1].split(separator: " ")[0],
                    code: ErrorCode(rawValue: String($0.split(separator: "\"")[1]))
                )
            }
        let classes: [(String, (ErrorCode) -> Bool)] = [
            ("isTimeout", \.isTimeout), ("isTransient", \.isTransient), ("isConnectFailure", \.isConnectFailure),
            ("isTrustFailure", \.isTrustFailure),
        ]
        for (name, contains) in classes {
            let before = try #require(source.split(separator: "public var \(name):").first)
            let comment = try #require(before.split(separator: "}\n").last)
            for (word, code) in codes { #expect(comment.contains("``\(word)``") == contains(code), "\(name) \(word)") }
        }
    }

    @Test("failures of trust, of connecting and of time are different classes")
    func classes() {
        #expect(ErrorCode.connectTimeout.isTimeout && ErrorCode.connectTimeout.isConnectFailure)
        #expect(ErrorCode.connectionRefused.isConnectFailure && !ErrorCode.connectionRefused.isTimeout)
        #expect(ErrorCode.pinMismatch.isTrustFailure && !ErrorCode.pinMismatch.isConnectFailure)
        #expect(!ErrorCode.connectionLost.isConnectFailure && ErrorCode.connectionLost.isTransient)
        #expect(!ErrorCode.totalTimeout.isTransient)
    }

    @Test(
        "a temporary status is transient, and others are not",
        arguments: [(503, true), (429, true), (404, false), (401, false)])
    func statuses(_ status: Int, _ isTransient: Bool) async throws {
        let error = try #require(try await error(.init(code: status)))
        #expect(error.code == .unacceptableStatus && error.status?.code == status)
        #expect(error.isTransient == isTransient)
    }

    @Test("a cancellation is recognized, from Curlew and from Swift")
    func cancellations() {
        struct Foreign: Error {}
        #expect(CurlewError.isCancellation(CancellationError()))
        #expect(CurlewError.isCancellation(CurlewError(.cancelled, "")))
        #expect(!CurlewError.isCancellation(CurlewError(.sessionInvalidated, "")))
        #expect(!CurlewError.isCancellation(Foreign()))
    }
}
