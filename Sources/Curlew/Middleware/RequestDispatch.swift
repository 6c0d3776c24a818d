internal import HTTPTypes

/// The way in which the end of a chain sends a request, where a link wants it otherwise than for its caller alone and at once.
///
/// ``HTTPSession`` asks it. A link cannot do this by itself, as it may not call the rest of the chain once it has returned.
protocol RequestDispatch: Sendable {
    typealias Send = @Sendable (CurlewRequest) async throws -> CurlewResponse

    /// - Parameters:
    ///   - request: As it comes out of the chain.
    ///   - transport: The identity of what sends it; nil if it has none.
    ///   - send: What sends it.
    func dispatch(_ request: CurlewRequest, over transport: ObjectIdentifier?, by send: @escaping Send) async throws
        -> CurlewResponse
}

extension RequestOptions {
    private enum DispatchKey: Key {
        static let defaultValue: (any RequestDispatch)? = nil
        static let affectsResponse = false
    }

    /// The dispatch that a link has set; the first one stays.
    var dispatch: (any RequestDispatch)? {
        get { self[DispatchKey.self] }
        set { self[DispatchKey.self] = newValue }
    }
}

/// Sends a request in a task of its own, and gives its caller a response that says no more than that.
struct DetachedDispatch: RequestDispatch {
    /// Takes what comes of the request.
    let completion: @Sendable (Result<CurlewResponse, any Error>) async -> Void

    func dispatch(_ request: CurlewRequest, over transport: ObjectIdentifier?, by send: @escaping Send) async throws
        -> CurlewResponse
    {
        Task { [completion] in
            let result: Result<CurlewResponse, any Error>
            do { result = .success(try await send(request)) } catch { result = .failure(error) }
            await completion(result)
        }
        var placeholder = CurlewResponse(.accepted, uri: request.uri)
        placeholder.isPlaceholder = true
        return placeholder
    }
}

extension CurlewResponse {
    private enum SentRequestKey: Key { static let defaultValue: CurlewRequest? = nil }

    /// True if texts about it may hold the query of its request.
    var showsQuery: Bool { (exchange?.request ?? sentRequest)?.options.showsQueries ?? false }

    /// The request as it was sent, where no exchange of a session has it.
    var sentRequest: CurlewRequest? {
        get { self[SentRequestKey.self] }
        set { self[SentRequestKey.self] = newValue }
    }

    private enum PlaceholderKey: Key { static let defaultValue = false }

    /// True if no server has answered: the request is sent by a task of its own.
    fileprivate(set) var isPlaceholder: Bool {
        get { self[PlaceholderKey.self] }
        set { self[PlaceholderKey.self] = newValue }
    }
}
