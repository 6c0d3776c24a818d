import Curlew
import CurlewTesting
import CurlewTestingTraits
import Foundation
import HTTPTypes
import Logging
import TestHelpers
import Testing

@testable import CurlewCredentials

@Suite("Secrets of a complete run", .endsServers, .timeLimit(.minutes(2)))
struct SecretRunTests {
    /// A log that keeps its lines.
    struct Recorder: LogHandler {
        let lines: Guarded<[String]>
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            lines.withLock { $0.append("\(event.message) \(event.metadata ?? [:]) \(metadata)") }
        }
    }

    @Test("logs, errors and descriptions of a run contain no secrets")
    func run() async throws {
        let tokens = try await MockServer.start { _ in
            MockResponse(
                body: #"{"access_token":"SECRETACCESS","refresh_token":"SECRETREFRESH","token_type":"Bearer"}"#)
        }
        let server = try await MockServer.start { request in
            MockResponse(status: request.exchangeIndex.isMultiple(of: 2) ? .serviceUnavailable : .unauthorized)
        }
        let lines = Guarded([String]())
        let logger = Logger(label: "run") { _ in Recorder(lines: lines) }
        let client = OAuth.Client("id", .basic(secret: "SECRETCLIENT"))
        let oauth = try OAuthCredential.clientCredentials(
            for: server.url(), OAuth.Endpoint(tokens.url(), client: client))
        let credential = try AWSCredential(accessKey: "AKID", secretKey: "SECRETKEY", sessionToken: "SECRETTOKEN")
        let aws = try AWSSigning(
            AWSSignature(service: "s3", region: "a"), for: server.url(), credentials: .fixed(credential))
        let netrc = NetrcAuthentication(try Netrc(Array("machine 127.0.0.1 login u password SECRETPASSWORD".utf8)))
        let chain = StandardChain.Options(logger: logger)
        let sessions = [
            try HTTPSession {
                oauth
                StandardChain(chain)
            },
            try HTTPSession {
                StandardChain(chain)
                aws
            },
            try HTTPSession {
                StandardChain(chain)
                netrc
            },
        ]
        var texts: [String] = []
        for session in sessions {
            let error = await curlewError { _ = try await session.get(.raw(server.url("/?a=SECRETQUERY")), as: .text) }
            texts.append("\(error as Any) \(String(reflecting: error))")
        }
        for value in [oauth, aws, netrc] as [Any] {
            texts.append("\(value) \(String(reflecting: value))")
            var dumped = ""
            dump(value, to: &dumped)
            texts.append(dumped)
        }
        let logged = lines.withLock { $0 }
        #expect(logged.count > 8)
        #expect(server.requestCount >= 6)
        for text in texts + logged { #expect(!text.contains("SECRET"), "\(text)") }
    }
}
