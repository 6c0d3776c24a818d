import ArgumentParser

/// A time in seconds, perhaps with a fraction.
struct Seconds: ExpressibleByArgument, Sendable, Equatable {
    var duration: Duration

    init?(argument: String) {
        guard let seconds = Double(argument), seconds > 0, seconds < 1e9 else { return nil }
        duration = .milliseconds(Int64((seconds * 1000).rounded(.up)))
    }
}
