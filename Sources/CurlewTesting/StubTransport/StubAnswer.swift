#if TestKit
public import Curlew
internal import FoundationEssentials
public import HTTPTypes

/// An answer of a ``StubTransport``: a response, an error, or a stall.
public struct StubAnswer: Sendable {
    enum Outcome: Sendable {
        case response(StubResponse)
        case failure(@Sendable () -> any Error)
        case stall
    }

    let outcome: Outcome
    var delay: Duration?

    /// A response. Content-Length is added if the length of the body is known.
    ///
    /// - Parameters:
    ///   - status: The status.
    ///   - fields: The fields, in this order.
    ///   - body: The body; it is omitted for HEAD, and with 204 and 304.
    ///   - version: The protocol version in the response.
    public static func response(
        _ status: HTTPResponse.Status = .ok,
        fields: HTTPFields = [:],
        body: Body = .none,
        version: HTTPProtocolVersion = .http11
    ) -> StubAnswer {
        StubAnswer(outcome: .response(StubResponse(status: status, fields: fields, body: body, version: version)))
    }

    /// A response with a body of JSON.
    ///
    /// - Throws: The error of the encoder.
    public static func json(_ value: some Encodable, status: HTTPResponse.Status = .ok) throws -> StubAnswer {
        let bytes = Array(try JSONEncoder().encode(value))
        return .response(status, fields: [.contentType: "application/json"], body: .bytes(bytes))
    }

    /// An error like those of the network, with the request's method and URI.
    ///
    /// - Parameters:
    ///   - code: The error code.
    ///   - message: The error message.
    ///   - stage: The stage that the exchange reached; by default the failure to make a connection.
    public static func failure(
        _ code: ErrorCode,
        _ message: String = "a stub's failure",
        stage: CurlewError.Stage = .connecting
    ) -> StubAnswer {
        StubAnswer(outcome: .failure { CurlewError(code, message).adding(stage: stage) })
    }

    /// An error of any type; a `CurlewError` gets the request's method and URI if it has none.
    public static func failure(_ error: any Error & Sendable) -> StubAnswer {
        StubAnswer(outcome: .failure { error })
    }

    /// A stall: no answer until the request is cancelled.
    public static let stall = StubAnswer(outcome: .stall)

    /// The same answer after a delay on the transport's clock.
    public func delayed(by duration: Duration) -> StubAnswer {
        var answer = self
        answer.delay = duration
        return answer
    }

    func perform(for request: CurlewRequest, clock: any Clock<Duration>) async throws -> CurlewResponse {
        if let delay { try await clock.sleep(for: delay) }
        switch self.outcome {
        case .response(let response): return response.make(for: request, clock: clock)
        case .failure(let makeError): throw makeError()
        case .stall:
            try await Watched(()).wait { false }
            throw CancellationError()
        }
    }
}
#endif
