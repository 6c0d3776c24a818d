/// The results of some requests.
struct Tally: Sendable {
    var requests = 0
    var errors = 0
    var bytes = 0
    var firstError: String?

    mutating func add(_ other: Tally) {
        requests += other.requests
        errors += other.errors
        bytes += other.bytes
        firstError = firstError ?? other.firstError
    }
}
