internal import HTTPTypes

/// The way in which the end of a chain sends a request, for links that change it: a shared or a later sending, for
/// example.
///
/// ``HTTPSession`` calls it. The link itself cannot send the request, as it may not call the rest of the chain after it
/// has returned.
package protocol RequestDispatch: Sendable {
    typealias Send = @Sendable (CurlewRequest) async throws -> CurlewResponse

    /// - Parameters:
    ///   - request: The request as the chain produced it.
    ///   - transport: The identity of the transport; nil if it has none.
    ///   - send: The function that sends the request.
    func dispatch(_ request: CurlewRequest, over transport: ObjectIdentifier?, by send: @escaping Send) async throws
        -> CurlewResponse
}

extension RequestOptions {
    private enum DispatchKey: Key {
        static let defaultValue: (any RequestDispatch)? = nil
        static let affectsResponse = false
    }

    /// The dispatch that a link has set. The first link that sets one wins.
    package var dispatch: (any RequestDispatch)? {
        get { self[DispatchKey.self] }
        set { self[DispatchKey.self] = newValue }
    }
}

/// Sends a request in a detached task, and returns a placeholder (202) to the caller at once.
package struct DetachedDispatch: RequestDispatch {
    /// Receives the result of the request.
    let completion: @Sendable (Result<CurlewResponse, any Error>) async -> Void

    package init(completion: @escaping @Sendable (Result<CurlewResponse, any Error>) async -> Void) {
        self.completion = completion
    }

    package func dispatch(
        _ request: CurlewRequest, over transport: ObjectIdentifier?, by send: @escaping Send
    ) async throws -> CurlewResponse {
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

    /// True if texts about the response may contain the query of its request.
    var showsQuery: Bool { (exchange?.request ?? sentRequest)?.options.showsQueries ?? false }

    /// The request as it was sent, for a response without an exchange of a session.
    package var sentRequest: CurlewRequest? {
        get { self[SentRequestKey.self] }
        set { self[SentRequestKey.self] = newValue }
    }

    private enum PlaceholderKey: Key { static let defaultValue = false }

    /// True if the response is a placeholder, not a server's answer: a detached task sends the request.
    package fileprivate(set) var isPlaceholder: Bool {
        get { self[PlaceholderKey.self] }
        set { self[PlaceholderKey.self] = newValue }
    }
}
