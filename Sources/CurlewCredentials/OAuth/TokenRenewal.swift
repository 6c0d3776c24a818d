internal import Curlew

/// The rule by which a token is renewed before its end.
///
/// Machines that got their tokens together renew them at different moments, by chance.
struct TokenRenewal: Hashable, Sendable {
    /// The time before its end in which a token is not used any more. 60 seconds.
    var margin: Duration = .seconds(60)
    /// The longest time by which a renewal comes sooner, by chance. 30 seconds.
    var jitter: Duration = .seconds(30)

    /// The age at which a token is to be renewed: from half its lifetime to its end.
    ///
    /// Margin and jitter each take a quarter of a short lifetime at most.
    func age(lifetime: Duration, using generator: inout some RandomNumberGenerator) -> Duration {
        guard lifetime > .zero else { return .zero }
        let part = Double.random(in: 0...1, using: &generator)
        let quarter = lifetime / 4
        return lifetime - min(max(margin, .zero), quarter) - min(max(jitter, .zero), quarter) * part
    }
}
