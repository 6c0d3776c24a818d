internal import HTTPTypes

/// The interim responses of an exchange.
struct InterimHeads {
    /// The greatest number of interim responses of an exchange.
    static let limit = 100

    private var count = 0
    private(set) var kept: [HTTPResponse] = []

    /// - Parameter most: The greatest number of kept responses.
    /// - Returns: False above the limit of an exchange.
    mutating func take(_ response: HTTPResponse, keeping most: Int) -> Bool {
        count += 1
        guard count <= Self.limit else { return false }
        if kept.count < most { kept.append(response) }
        return true
    }
}
