import Curlew

/// Webhooks: deliveries to public addresses alone, with retries under one idempotency key, a hedge for a slow server
/// and a circuit breaker.
public struct Webhooks: Sendable {
    public struct Event: Encodable, Sendable {
        let id: String
        let kind: String

        public init(id: String, kind: String) {
            self.id = id
            self.kind = kind
        }
    }

    private let hooks: HTTPSession

    public init(addresses: AddressPolicy = .publicOnly, hedgeAfter delay: Duration = .milliseconds(300)) throws {
        var chain = StandardChain.Options()
        chain.retry?.policy.attempts = 4
        chain.retry?.policy.backoff = Retry.Backoff(base: .milliseconds(20), maximum: .seconds(5))
        hooks = try HTTPSession(configuration: SessionConfiguration(addressPolicy: addresses)) {
            StandardChain(chain)
            Hedging(after: delay)
            CircuitBreaker()
        }
    }

    public func deliver(_ event: Event, to url: String) async throws {
        let options = RequestOptions().setting(\.idempotencyKey, to: .init(event.id))
        try await hooks.post(.raw(url), .json(event), as: .nothing, timeout: .seconds(10), options: options)
    }
}
