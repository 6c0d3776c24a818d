public import HTTPTypes

/// Follows redirects (RFC 9110 §15.4), each as a request of its own that the links after this one see.
///
/// - 303 makes every method but HEAD a GET, 301 and 302 make a POST one; other methods stay. 307 and 308 keep method and
///   body. When the method changes, the body goes, and with it the fields that speak of it and its trailers; else the
///   request keeps them. A body that is to be sent again and can be read only once is ``ErrorCode/bodyNotReplayable``.
/// - Location may be relative and empty, and inherits the fragment. Without one the redirect is the answer. One that
///   cannot be followed is ``ErrorCode/invalidRedirect``.
/// - When scheme, host or port change, these are taken off: Authorization, Proxy-Authorization, Cookie, other fields known
///   to hold secrets, those that ``secretFields`` and ``RequestOptions/secretFields`` name, user information, and a Host
///   field of the caller's.
/// - From `https` to `http` is ``ErrorCode/redirectRefused``, one redirect more than the policy allows
///   ``ErrorCode/tooManyRedirects``. A URL may come again: the answer to the second visit may be another one.
///
/// ``CurlewResponse/history`` lists what was followed. The body of a redirect is read, up to 64 KiB and for a second, so that its
/// connection can be used again, else dropped. ``RequestOptions/totalTimeout`` holds for all of it.
///
/// ```swift
/// let api = try HTTPSession(baseURL: "https://api.example.com/") {
///     Redirects(.follow(maximum: 5))
/// }
/// ```
///
/// A link that adds credentials stands before this one: after it, it would add them for every origin.
public struct Redirects: CurlewMiddleware {
    /// The policy for redirects, unless a request's ``RequestOptions/redirects`` says otherwise.
    public var policy: Redirects.Policy
    /// True if 301 and 302 make a POST a GET without a body, as browsers do. It is allowed, not asked for
    /// (RFC 9110 §15.4.2). True by default.
    public var changesPostToGet = true
    /// True if a redirect may lead from `https` to `http`. False by default.
    public var allowsDowngrade = false
    /// Fields with secrets, beside those known to be secret and those that a request marks.
    public var secretFields: Set<HTTPField.Name> = []

    /// The longest Location that is followed: 8 KiB.
    public static let locationLimit: ByteSize = .kibibytes(8)

    public init(_ policy: Redirects.Policy = .follow) { self.policy = policy }

    public func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
        -> CurlewResponse
    {
        try await intercept(request, from: Self.begin(request), next: next)
    }

    /// The time at which a call begins that has a limit; zero for another.
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
                // A link behind this one may have gone over to https.
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

    /// The request that follows a redirect; nil if the redirect is the answer.
    private func step(
        _ response: CurlewResponse, _ request: CurlewRequest, _ trail: inout RedirectTrail
    ) async throws -> CurlewRequest? {
        let policy = request.options.redirects ?? policy
        if case .manual = policy.kind { return nil }
        do {
            if case .refuse = policy.kind, response.fields.contains(.location) {
                throw CurlewError(.redirectRefused, "a redirect came, and none is taken")
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

/// The redirects of a call, which are counted.
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

    /// Notes a redirect that is going to be followed.
    mutating func add(_ redirect: CurlewResponse) {
        hops.append(
            CurlewResponse.Redirect(
                status: redirect.status, uri: redirect.uri, fields: redirect.fields, attempts: redirect.attempts))
    }
}
