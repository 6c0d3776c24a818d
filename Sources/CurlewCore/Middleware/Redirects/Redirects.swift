public import HTTPTypes

/// Follows redirects (RFC 9110 §15.4). Each redirect becomes a request of its own, which the inner links see.
///
/// - 303 turns every method but HEAD into GET; 301 and 302 turn POST into GET and keep other methods. 307 and 308 keep
///   the method and the body.
/// - When the method changes, the body, its trailers and the fields that describe it are removed. A body that must be
///   sent again but can be read only once is ``ErrorCode/bodyNotReplayable``.
/// - Location may be relative or empty, and inherits the fragment. A redirect without a Location is the response. An
///   unusable Location is ``ErrorCode/invalidRedirect``.
/// - A redirect to another scheme, host or port removes these: Authorization, Proxy-Authorization, Cookie, other fields
///   known to hold secrets, the fields that ``secretFields`` and ``RequestOptions/secretFields`` name, user
///   information, and the caller's Host field.
/// - A redirect from `https` to `http` is ``ErrorCode/redirectRefused``. One redirect more than the policy allows is
///   ``ErrorCode/tooManyRedirects``. The same URL may occur again: the answer to the second visit may differ.
///
/// ``CurlewResponse/history`` lists the followed redirects. The body of a redirect is read, up to 64 KiB and for at
/// most a second, so that its connection can be used again; a larger or slower body is dropped.
/// ``RequestOptions/totalTimeout`` covers the call with all its redirects.
///
/// ```swift
/// let api = try HTTPSession(baseURL: "https://api.example.com/") {
///     Redirects(.follow(maximum: 5))
/// }
/// ```
///
/// A link that adds credentials stands before this one. After it, the link would add them for every origin.
public struct Redirects: CurlewMiddleware {
    /// The policy for redirects, unless the request's ``RequestOptions/redirects`` sets another.
    public var policy: Redirects.Policy
    /// True if 301 and 302 turn a POST into a GET without a body, as browsers do. RFC 9110 §15.4.2 allows it and does
    /// not require it. True by default.
    public var changesPostToGet = true
    /// True if a redirect may lead from `https` to `http`. False by default.
    public var allowsDowngrade = false
    /// The names of further secret fields, beside the known ones and those that a request marks.
    public var secretFields: Set<HTTPField.Name> = []

    /// The limit on the length of a Location: 8 KiB.
    public static let locationLimit: ByteSize = .kibibytes(8)

    public init(_ policy: Redirects.Policy = .follow) { self.policy = policy }

    public func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
        -> CurlewResponse
    {
        try await intercept(request, from: Self.begin(request), next: next)
    }

    /// The start of a call that has a total timeout; zero for other calls.
    static func begin(_ request: CurlewRequest) -> Duration {
        request.options.totalTimeout == nil ? .zero : Timekeeper.continuous.elapsed()
    }

    func intercept(
        _ request: CurlewRequest, from start: Duration, next: Next<CurlewRequest, CurlewResponse>
    ) async throws -> CurlewResponse {
        let response = try await next(request)
        guard RedirectRule.isRedirect(response.status.code) else { return response }
        let deadline = CallDeadline(request.options, .continuous, start: start)
        return try await follow(response, to: request, deadline, next)
    }

    private func follow(
        _ first: CurlewResponse, to original: CurlewRequest, _ deadline: CallDeadline,
        _ next: Next<CurlewRequest, CurlewResponse>
    ) async throws -> CurlewResponse {
        var request = original
        var response = first
        var trail = RedirectTrail()
        do {
            while RedirectRule.isRedirect(response.status.code) {
                // An inner link may have upgraded the request to https.
                if response.uri.layout.isSecure, request.uri.upgraded() == response.uri { request.upgrade() }
                guard var following = try await step(response, request, &trail) else { break }
                await response.discard()
                try deadline.limit(&following)
                request = following
                response = try await next(following)
            }
        } catch let error as CurlewError {
            throw error.adding(CurlewError.Context(history: trail.hops))
        }
        response.history = trail.hops + response.history
        return response
    }

    /// The request that follows a redirect; nil if the redirect is the response.
    private func step(
        _ response: CurlewResponse, _ request: CurlewRequest, _ trail: inout RedirectTrail
    ) async throws -> CurlewRequest? {
        let policy = request.options.redirects ?? policy
        if case .manual = policy.kind { return nil }
        do {
            if case .refuse = policy.kind, response.fields.contains(.location) {
                throw CurlewError(.redirectRefused, "a redirect was received, and none is allowed")
            }
            let rule = RedirectRule(
                changesPostToGet: changesPostToGet, allowsDowngrade: allowsDowngrade,
                secretFields: secretFields.union(request.options.secretFields))
            guard let proposed = try rule.request(after: response.head, to: request) else { return nil }
            try trail.admit(proposed.uri, upTo: policy.maximum)
            try rule.checkDowngrade(from: request.uri, to: proposed.uri)
            guard let chosen = try await choose(proposed, policy, response, request, trail.hops) else { return nil }
            let following = try rule.checked(chosen, insteadOf: proposed, from: request.uri)
            guard !request.options.staysWithOrigin || following.uri.hasSameOrigin(as: request.uri) else {
                throw CurlewError(
                    .redirectRefused,
                    "the redirect leads to another origin, \(following.uri.origin), which is not allowed")
            }
            trail.add(response)
            request.reporter?.redirected(response.status, to: following, number: trail.hops.count)
            return following
        } catch let error as CurlewError {
            throw error.adding(
                CurlewError.Context(
                    method: request.method, uri: request.uri, stage: .receiving, response: response.head,
                    showsQuery: request.options.showsQueries))
        }
    }

    private func choose(
        _ proposed: CurlewRequest, _ policy: Redirects.Policy, _ response: CurlewResponse, _ request: CurlewRequest,
        _ history: [CurlewResponse.Redirect]
    ) async throws -> CurlewRequest? {
        guard case .decide(let decision) = policy.kind else { return proposed }
        let proposal = Redirects.Proposal(
            response: response.head, uri: request.uri, request: proposed, history: history)
        return try await decision(proposal)
    }
}

/// The redirects of one call, with their limit.
struct RedirectTrail {
    private(set) var hops: [CurlewResponse.Redirect] = []

    /// - Parameter target: The URI that one more redirect leads to.
    /// - Throws: ``CurlewError`` with ``ErrorCode/tooManyRedirects`` unless one more may be followed.
    func admit(_ target: CurlewURI, upTo maximum: Int) throws {
        guard hops.count >= maximum else { return }
        let text = target.requestText
        let isCircle = hops.contains { $0.uri.requestText.hasSameBytes(as: text) }
        let reason = isCircle ? ", and they lead to the same URLs again" : ""
        throw CurlewError(.tooManyRedirects, "there were more than \(maximum) redirects\(reason)")
    }

    /// Records a redirect that is about to be followed.
    mutating func add(_ redirect: CurlewResponse) {
        hops.append(
            CurlewResponse.Redirect(
                status: redirect.status, uri: redirect.uri, fields: redirect.fields, attempts: redirect.attempts))
    }
}
