import Curlew

/// A link whose waits are all over at once.
func quickRetry(_ attempts: Int = 3, budget: RetryBudget? = nil) -> Retry {
    var retry = Retry(attempts: attempts, budget: budget)
    retry.backoff = Backoff(base: .zero)
    return retry
}
