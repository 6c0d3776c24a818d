import Curlew

/// A retrying link without waits.
func quickRetry(_ attempts: Int = 3, budget: Retry.Budget? = nil) -> Retry {
    var retry = Retry(attempts: attempts, budget: budget)
    retry.policy.backoff = Retry.Backoff(base: .zero)
    return retry
}
