internal import HTTPTypes

/// The interim responses of an exchange.
struct InterimHeads {
    /// The most that an exchange may have.
    static let limit = 100

    private var count = 0
    private(set) var kept: [HTTPResponse] = []

    /// - Parameter most: How many are kept.
    /// - Returns: False if there are more than an exchange may have.
    mutating func take(_ response: HTTPResponse, keeping most: Int) -> Bool {
        count += 1
        guard count <= Self.limit else { return false }
        if kept.count < most { kept.append(response) }
        return true
    }
}
