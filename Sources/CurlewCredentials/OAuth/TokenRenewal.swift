internal import Curlew

/// The rule for the time at which a token is renewed.
///
/// A random part spreads the renewals of machines that got their tokens at the same time.
struct TokenRenewal: Hashable, Sendable {
    /// The time before its expiration at which a token is renewed. 60 seconds.
    var margin: Duration = .seconds(60)
    /// The largest random time by which a renewal is earlier. 30 seconds.
    var jitter: Duration = .seconds(30)

    /// The age at which a token is renewed: between half its lifetime and its end.
    ///
    /// For a short lifetime, margin and jitter are each at most a quarter of it.
    func age(lifetime: Duration, using generator: inout some RandomNumberGenerator) -> Duration {
        guard lifetime > .zero else { return .zero }
        let part = Double.random(in: 0...1, using: &generator)
        let quarter = lifetime / 4
        return lifetime - min(max(margin, .zero), quarter) - min(max(jitter, .zero), quarter) * part
    }
}
