import CurlewTesting
import HTTPTypes
import Testing

@testable import CurlewCore

/// A request to an HTTP/2 server whose behaviour is a script.
enum HTTP2FaultScene {
    /// The behaviour of a server at the first request of a connection.
    typealias Script = @Sendable (RawConnection, UInt32) async throws -> Void

    /// The result of the request. The session must be usable after it.
    static func run(
        idle: Duration = .seconds(10),
        over method: HTTPRequest.Method = .get,
        body: CurlewRequest.Body = .none,
        _ script: @escaping Script
    ) async throws -> Result<[UInt8], CurlewError> {
        let server = try await RawServer.start { connection in
            let stream = try await connection.acceptHTTP2Request()
            try await script(connection, stream)
        }
        let session = try makeSession {
            $0.versionPolicy = .http2PriorKnowledge
        }
        var options = RequestOptions()
        options.idleTimeout = idle
        let result: Result<[UInt8], CurlewError>
        do {
            let response = try await session.send(method, .raw(server.url()), .body(body), options: options)
            result = .success(try await response.body.collect(upTo: .mebibytes(16)))
        } catch let error as CurlewError {
            result = .failure(error)
        }
        options = RequestOptions()
        options.versionPolicy = .http11
        let other = try await rawAnswer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        #expect(try await session.fetch(other.url(), options: options) == Array("ok".utf8))
        await server.shutdown()
        return result
    }

    static func expectFailure(
        _ result: Result<[UInt8], CurlewError>,
        _ codes: ErrorCode...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        guard case .failure(let error) = result, codes.contains(error.code) else {
            Issue.record("got \(result)", sourceLocation: sourceLocation)
            return
        }
    }
}
