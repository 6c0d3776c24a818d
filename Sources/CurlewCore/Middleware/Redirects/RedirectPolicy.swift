public import HTTPTypes

extension Redirects {
    /// The treatment of redirects: follow, refuse, return to the caller, or decide on each one.
    public struct Policy: Sendable {
        /// Decides on one redirect. It returns the request to send, as proposed or changed, or nil to make the redirect
        /// itself the response. An error that it throws ends the call.
        public typealias Decision = @Sendable (Redirects.Proposal) async throws -> CurlewRequest?

        enum Kind: Sendable {
            case follow
            case refuse
            case manual
            case decide(Decision)
        }

        let kind: Kind
        /// The largest number of redirects that a call follows.
        let maximum: Int

        private init(_ kind: Kind, maximum: Int) {
            self.kind = kind
            self.maximum = min(max(0, maximum), Self.upperLimit)
        }

        /// The upper limit of the `maximum` of every policy: 1,000.
        public static let upperLimit = 1000

        /// Follows up to 20 redirects, as ``follow(maximum:)`` does. The default.
        public static let follow = Redirects.Policy.follow(maximum: 20)

        /// Follows up to `maximum` redirects; one more is ``ErrorCode/tooManyRedirects``.
        public static func follow(maximum: Int) -> Redirects.Policy { Redirects.Policy(.follow, maximum: maximum) }

        /// Throws ``ErrorCode/redirectRefused`` for a redirect.
        public static let refuse = Redirects.Policy(.refuse, maximum: 0)

        /// Returns the redirect as the response.
        public static let manual = Redirects.Policy(.manual, maximum: 0)

        /// Calls a closure for each redirect, up to `maximum` of them in a call.
        ///
        /// The proposed request has already lost its secrets if the redirect leads to another origin. Fields that the
        /// closure adds are sent, even to another origin. If the proposed request stays with its origin and the closure
        /// leads it to another one, the secrets that the request still carries are removed.
        public static func decide(maximum: Int = 20, _ decision: @escaping Decision) -> Redirects.Policy {
            Redirects.Policy(.decide(decision), maximum: maximum)
        }
    }
}

extension RequestOptions {
    private enum RedirectsKey: Key {
        static let defaultValue: Redirects.Policy? = nil
        static let affectsResponse = false
    }

    /// The policy of ``Redirects`` for this request; nil selects the link's ``Redirects/policy``.
    public var redirects: Redirects.Policy? {
        get { self[RedirectsKey.self] }
        set { self[RedirectsKey.self] = newValue }
    }

    private enum StaysWithOriginKey: Key {
        static let defaultValue = false
        static let affectsResponse = false
    }

    /// True if a redirect to another origin is ``ErrorCode/redirectRefused``, whatever the policy decides.
    package var staysWithOrigin: Bool {
        get { self[StaysWithOriginKey.self] }
        set { self[StaysWithOriginKey.self] = newValue }
    }
}

extension Redirects {
    /// A redirect and the request that would follow it, for a ``Redirects/Policy`` to decide on.
    public struct Proposal: Sendable {
        /// The head of the redirect.
        public let response: HTTPResponse
        /// The URI that answered with the redirect.
        public let uri: CurlewURI
        /// The proposed request.
        public let request: CurlewRequest
        /// The earlier redirects of the call, in order.
        public let history: [CurlewResponse.Redirect]

        /// True if the request leads to another origin: its scheme, host or port differs.
        public var crossesOrigins: Bool { !uri.hasSameOrigin(as: request.uri) }
    }
}
