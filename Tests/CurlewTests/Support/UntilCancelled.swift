import CurlewTesting

/// Returns never, and throws when the task is cancelled: for a server or a closure that stalls.
func untilCancelled() async throws { try await TestClock().sleep(for: .seconds(1)) }
