#if TestKit
public import Testing

/// Waits for something that happens elsewhere and that no event announces, such as the end of an object that a loop holds.
///
/// The condition is looked at again and again for a moment, later about every millisecond. Where there is an event, await
/// that instead.
///
///     try await eventually("the loop has let its core go") { core == nil }
///
/// - Parameters:
///   - expectation: What is to become true, for the message of a failure.
///   - limit: How long it may take.
///   - sourceLocation: Where a failure is shown.
///   - condition: Whether it is true now.
/// - Throws: An error that Swift Testing has recorded already, if it has not become true in time; what the condition throws;
///   `CancellationError`.
public func eventually(
    _ expectation: String, within limit: Duration = .seconds(30), sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: () async throws -> Bool
) async throws {
    let start = ContinuousClock.now
    while try await !condition() {
        let elapsed = start.duration(to: .now)
        try #require(elapsed < limit, "not within \(limit): \(expectation)", sourceLocation: sourceLocation)
        // What a sleep would miss is seen, and nobody is kept from a processor for long.
        if elapsed < .milliseconds(20) {
            try Task.checkCancellation()
            await Task.yield()
        } else {
            try await Task.sleep(for: .milliseconds(1))
        }
    }
}
#endif
