public import HTTPTypes

extension Redirects {
    /// The treatment of redirects: followed, refused, handed to the caller, or decided on each time.
    public struct Policy: Sendable {
        /// Decides on one redirect: returns the request to send, as it is proposed or changed; nil makes the redirect itself
        /// the answer; an error that is thrown ends the call.
        public typealias Decision = @Sendable (Redirects.Proposal) async throws -> CurlewRequest?

        enum Kind: Sendable {
            case follow
            case refuse
            case manual
            case decide(Decision)
        }

        let kind: Kind
        /// The most redirects that a call follows.
        let maximum: Int

        private init(_ kind: Kind, maximum: Int) {
            self.kind = kind
            self.maximum = min(max(0, maximum), Self.upperLimit)
        }

        /// More redirects than these are never followed, whatever a policy allows: 1,000.
        public static let upperLimit = 1000

        /// Follows up to 20 redirects, as ``follow(maximum:)`` does. The default.
        public static let follow = Redirects.Policy.follow(maximum: 20)

        /// Follows redirects; one more than `maximum` is ``ErrorCode/tooManyRedirects``.
        public static func follow(maximum: Int) -> Redirects.Policy { Redirects.Policy(.follow, maximum: maximum) }

        /// A redirect is an error, ``ErrorCode/redirectRefused``.
        public static let refuse = Redirects.Policy(.refuse, maximum: 0)

        /// The redirect is the answer.
        public static let manual = Redirects.Policy(.manual, maximum: 0)

        /// Asks for each redirect, up to `maximum` of them in a call.
        ///
        /// The request that is proposed has lost what it would lose otherwise. What a decision puts into it is sent, to another
        /// origin too: it knows what it does. But if it leads a request that was to stay with its origin to another one, the
        /// secrets that it still carries are taken off.
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

    /// The policy of ``Redirects`` for this request; nil is its ``Redirects/policy``.
    public var redirects: Redirects.Policy? {
        get { self[RedirectsKey.self] }
        set { self[RedirectsKey.self] = newValue }
    }

    private enum StaysWithOriginKey: Key {
        static let defaultValue = false
        static let affectsResponse = false
    }

    /// True if a redirect to another origin is ``ErrorCode/redirectRefused``, whatever the policy decides.
    var staysWithOrigin: Bool {
        get { self[StaysWithOriginKey.self] }
        set { self[StaysWithOriginKey.self] = newValue }
    }
}

extension Redirects {
    /// A redirect and the request that would follow it, for a ``Redirects/Policy`` to decide on.
    public struct Proposal: Sendable {
        /// The head of the redirect.
        public let response: HTTPResponse
        /// The URI that answered with it.
        public let uri: CurlewURI
        /// The request that would be sent.
        public let request: CurlewRequest
        /// The redirects before this one, first to last.
        public let history: [CurlewResponse.Redirect]

        /// True if the request would go to another origin: scheme, host or port differ.
        public var crossesOrigins: Bool { !uri.hasSameOrigin(as: request.uri) }
    }
}
