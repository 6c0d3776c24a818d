#if TestKit
public import Curlew
internal import FoundationEssentials
public import HTTPTypes

/// What a ``StubTransport`` answers: a response, an error, or nothing.
public struct StubAnswer: Sendable {
    enum Outcome: Sendable {
        case response(StubResponse)
        case failure(@Sendable () -> any Error)
        case webSocket(StubWebSocket)
        case stall
    }

    let outcome: Outcome
    var delay: Duration?

    /// A response. Content-Length is added where the length of the body is known.
    ///
    /// - Parameters:
    ///   - status: The status.
    ///   - fields: The fields, in this order.
    ///   - body: The body; nothing of it comes for HEAD, or with 204 and 304.
    ///   - version: The version that it claims to have come by.
    public static func response(
        _ status: HTTPResponse.Status = .ok,
        fields: HTTPFields = [:],
        body: Body = .none,
        version: HTTPProtocolVersion = .http11
    ) -> StubAnswer {
        StubAnswer(outcome: .response(StubResponse(status: status, fields: fields, body: body, version: version)))
    }

    /// A response whose body is a value written as JSON.
    ///
    /// - Throws: What the encoder throws.
    public static func json(_ value: some Encodable, status: HTTPResponse.Status = .ok) throws -> StubAnswer {
        let bytes = Array(try JSONEncoder().encode(value))
        return .response(status, fields: [.contentType: "application/json"], body: .bytes(bytes))
    }

    /// An error as the network would bring it, with the request's method and URI.
    ///
    /// - Parameters:
    ///   - code: What went wrong.
    ///   - message: The same in words.
    ///   - stage: How far the exchange got; by default no connection could be made.
    public static func failure(
        _ code: ErrorCode,
        _ message: String = "a stub's failure",
        stage: CurlewError.Stage = .connecting
    ) -> StubAnswer {
        StubAnswer(outcome: .failure { CurlewError(code, message).adding(stage: stage) })
    }

    /// This error; a `CurlewError` gets the request's method and URI if it has none.
    public static func failure(_ error: any Error & Sendable) -> StubAnswer {
        StubAnswer(outcome: .failure { error })
    }

    /// Nothing, until the request is cancelled.
    public static let stall = StubAnswer(outcome: .stall)

    /// The same after a while on the transport's clock.
    public func delayed(by duration: Duration) -> StubAnswer {
        var answer = self
        answer.delay = duration
        return answer
    }

    func perform(for request: CurlewRequest, clock: any Clock<Duration>) async throws -> CurlewResponse {
        if let delay { try await clock.sleep(for: delay) }
        switch self.outcome {
        case .response(let response): return response.make(for: request, clock: clock)
        case .webSocket(let socket): return try socket.open(request)
        case .failure(let makeError): throw makeError()
        case .stall:
            try await Watched(()).wait { false }
            throw CancellationError()
        }
    }
}
#endif
