import CurlewTesting

/// Waits until the task is cancelled, then throws: for a server or a closure that stalls.
func untilCancelled() async throws { try await TestClock().sleep(for: .seconds(1)) }
