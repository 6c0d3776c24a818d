#if TestKit
public import Testing

/// Waits for a condition that no event announces, such as the deinitialization of an object that a loop holds.
///
/// The condition is polled continuously for 20 ms, then about every millisecond. If there is an event, await the event
/// instead.
///
///     try await eventually("the loop has let its core go") { core == nil }
///
/// - Parameters:
///   - expectation: The expected state, for the message of a failure.
///   - limit: The maximum time to wait.
///   - sourceLocation: The source location of a failure.
///   - condition: True when the expected state is reached.
/// - Throws: An error that Swift Testing has already recorded, if the condition is not true in time; the error of the
///   condition; `CancellationError`.
public func eventually(
    _ expectation: String, within limit: Duration = .seconds(30), sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: () async throws -> Bool
) async throws {
    let start = ContinuousClock.now
    while try await !condition() {
        let elapsed = start.duration(to: .now)
        try #require(elapsed < limit, "not within \(limit): \(expectation)", sourceLocation: sourceLocation)
        // Yielding detects changes that a sleep would miss, and leaves the processor to other tasks.
        if elapsed < .milliseconds(20) {
            try Task.checkCancellation()
            await Task.yield()
        } else {
            try await Task.sleep(for: .milliseconds(1))
        }
    }
}
#endif
