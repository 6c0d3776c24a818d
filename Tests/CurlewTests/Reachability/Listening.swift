import CurlewTestingTraits
import Testing

@testable import CurlewCache
@testable import CurlewCore
@testable import CurlewTransfers

/// Reads updates until one matches; earlier ones are transitional states.
@discardableResult
func wait(
    _ updates: inout ReachabilityMonitor.Updates.AsyncIterator, sourceLocation: SourceLocation = #_sourceLocation,
    until isExpected: (ReachabilityStatus) -> Bool
) async -> ReachabilityStatus {
    while let status = await updates.next() {
        if isExpected(status) { return status }
    }
    Issue.record("the updates ended", sourceLocation: sourceLocation)
    return .unknown
}

/// Waits for a change on the monitor's loop that has no event.
func waitUntil(
    sourceLocation: SourceLocation = #_sourceLocation, _ isDone: () async -> Bool
) async throws {
    try await eventually("it happens on the monitor's loop", sourceLocation: sourceLocation) { await isDone() }
}

extension ReachabilityStatus.Path.Families {
    static let both: ReachabilityStatus.Path.Families = [.ipv4, .ipv6]
}
