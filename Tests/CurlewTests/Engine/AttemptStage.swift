import CLibcurl
import HTTPTypes

@testable import CurlewCore

/// An attempt with simulated events, without an engine and a socket.
final class AttemptStage {
    var attempt: Attempt
    private(set) var lastAction = Attempt.LineAction.nothing

    init(
        _ method: HTTPRequest.Method = .get, body: CurlewRequest.Body = .none, plan: Attempt.Plan = Attempt.Plan(),
        configure: (inout SessionConfiguration) -> Void = { _ in }, change: (inout CurlewRequest) -> Void = { _ in }
    ) throws {
        let prepared = try Self.prepared(method, body: body, configure: configure, change: change)
        attempt = Attempt(prepared, plan: plan, cache: ResponseHeadCache())
        attempt.begin()
    }

    /// A request in the form that the engine receives.
    static func prepared(
        _ method: HTTPRequest.Method = .get, body: CurlewRequest.Body = .none,
        configure: (inout SessionConfiguration) -> Void = { _ in }, change: (inout CurlewRequest) -> Void = { _ in }
    ) throws -> PreparedRequest {
        var configuration = SessionConfiguration()
        configure(&configuration)
        var request = try CurlewRequest(method, "http://127.0.0.1/")
        request.body = body
        change(&request)
        return try PreparedRequest(request, defaults: RequestDefaults(configuration))
    }

    /// Simulates a new connection of libcurl. A second one without a challenge in between belongs to a repetition by
    /// libcurl.
    /// - Returns: True if the request may use the connection.
    @discardableResult
    func connect(isReused: Bool = false, _ change: (inout ConnectionCandidate) -> Void = { _ in }) -> Bool {
        if attempt.isRepeatedByEngine { attempt.reject(.resend) }
        attempt.take(isReused: isReused)
        guard attempt.connectionIsReady().isGranted else { return false }
        var candidate = ConnectionCandidate(isChosen: true, .http1)
        change(&candidate)
        return attempt.mayUse(candidate)
    }

    /// Simulates lines of a head, or of trailers.
    func receive(_ lines: String...) {
        for line in lines {
            lastAction = Array("\(line)\r\n".utf8).withUnsafeBytes { attempt.take($0) }
            if case .head(let head, let effects) = lastAction { attempt.publish(head, effects) }
        }
    }

    func receiveRaw(_ text: String) { Array(text.utf8).withUnsafeBytes { attempt.follow(raw: $0) } }

    /// Simulates the engine's reads of the body, of at most this number of bytes.
    func send(_ count: Int, of bytes: [UInt8]) {
        if !attempt.outgoing.hasSource { attempt.beginBody(from: .bytes(bytes)) }
        var space = [UInt8](repeating: 0, count: count)
        _ = space.withUnsafeMutableBytes { attempt.provide(into: $0) }
    }

    /// The result of the exchange.
    enum Ending: Equatable {
        case again(Attempt.Plan)
        case success
        case failure(ErrorCode)
    }

    /// Simulates the end of the transfer.
    /// - Parameter code: The result code of libcurl; nil is success.
    func end(
        _ code: CURLcode? = nil, _ change: (inout EngineFailure) -> Void = { _ in }
    ) -> Ending {
        var failure = code.map { EngineFailure($0) }
        if failure != nil { change(&failure!) }
        if attempt.isToBeRepeated(after: failure) { return .again(attempt.successor.plan) }
        if failure == nil, let (head, effects) = attempt.takeChallenge() { attempt.publish(head, effects) }
        switch attempt.outcome(after: failure) {
        case .success: return .success
        case .failure(let error): return .failure(error.code)
        }
    }
}
