import Curlew
import CurlewTesting
import HTTPTypes

/// A redirect with a short body.
func redirect(_ status: Int, to location: String?, _ fields: HTTPFields = [:]) -> MockResponse {
    var fields = fields
    if let location { fields[.location] = location }
    return MockResponse(status: .init(code: status), fields: fields, body: "it is elsewhere")
}

/// A session on its own loop, with short limits and the given links.
func makeSession<Links: CurlewMiddleware>(
    security: SecurityPolicy = .system, versionPolicy: HTTPVersionPolicy = .negotiated,
    @ChainBuilder _ links: () -> Links
) throws -> HTTPSession
where
    Links.Input == CurlewRequest, Links.Output == CurlewResponse, Links.NextInput == CurlewRequest,
    Links.NextOutput == CurlewResponse
{
    var configuration = SessionConfiguration()
    configuration.timeouts = Timeouts(connect: .seconds(10), idle: .seconds(20), total: .seconds(50))
    configuration.security = security
    configuration.versionPolicy = versionPolicy
    return try HTTPSession(
        configuration: configuration, eventLoops: [CurlewEventLoop(name: "curlew-test")], chain: .bare, links)
}

/// A body that can be read once.
func oneShot(_ text: String) -> CurlewRequest.Body {
    .once(
        AsyncStream<[UInt8]> { chunks in
            chunks.yield(Array(text.utf8))
            chunks.finish()
        })
}

extension HTTPField.Name {
    static let mark = HTTPField.Name("X-Mark")!
    static let apiKey = HTTPField.Name("X-API-Key")!
    static let host = HTTPField.Name("Host")!
}
