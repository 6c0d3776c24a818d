import Curlew

/// Prints the User-Agent of the release, and fails for an unexpected result of a call.
@main
struct FromVersion {
    struct Mismatch: Error {}

    static func main() async throws {
        let http = try HTTPSession(baseURL: "http://127.0.0.1:1/", chain: .bare)
        do {
            _ = try await http.get("birds", as: [String].self)
            throw Mismatch()
        } catch let error as CurlewError {
            // No server listens on port 1.
            guard error.code == .connectionRefused else { throw error }
        }
        await http.shutdown()
        print(SessionConfiguration.defaultUserAgent)
    }
}
