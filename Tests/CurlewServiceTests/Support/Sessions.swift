#if Service
import Curlew
import CurlewTesting

/// A configuration with limits that are short enough for tests of failures and long enough for slow machines.
func testConfiguration() -> SessionConfiguration {
    var configuration = SessionConfiguration()
    configuration.timeouts = Timeouts(connect: .seconds(10), idle: .seconds(20), total: .seconds(50))
    configuration.userAgent = nil
    return configuration
}

/// A retrying link without waits.
func quickRetry(_ attempts: Int = 3, budget: Retry.Budget? = nil) -> Retry {
    var retry = Retry(attempts: attempts, budget: budget)
    retry.policy.backoff = Retry.Backoff(base: .zero)
    return retry
}

extension StandardChain.Options {
    /// The usual links, without waits.
    static func quick(_ attempts: Int = 3) -> Self {
        var options = Self()
        options.retry = quickRetry(attempts)
        return options
    }
}

/// A gate that a test opens once and permanently.
struct Gate: Sendable {
    private let clock: TestClock
    private let moment: TestClock.Instant

    init() {
        clock = TestClock()
        moment = clock.now.advanced(by: .seconds(1))
    }

    func wait() async throws { try await clock.sleep(until: moment) }

    func open() { clock.advance(by: .seconds(1)) }
}
#endif
