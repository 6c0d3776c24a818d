/// What variables say about proxies, read once.
struct ProxyEnvironment: Sendable {
    /// An error waits for the request that would need the variable.
    private typealias Reading = Result<Proxy, CurlewError>

    private let http: Reading?
    private let https: Reading?
    private let exceptions: [ProxyHostPattern]

    /// The variables that are read. `HTTP_PROXY` is not among them: a web server hands the field `Proxy` of its client to
    /// CGI programs under that name.
    private static let names: Set<String> = [
        "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY",
    ]

    static func relevant(_ variables: [String: String]) -> [String: String] {
        variables.filter { names.contains($0.key) }
    }

    init(_ variables: [String: String]) {
        /// The first of the variables that is there and not empty.
        func value(_ names: String...) -> (name: String, text: String)? {
            for name in names {
                if let text = variables[name], !text.isEmpty { return (name, text) }
            }
            return nil
        }
        let all = value("all_proxy", "ALL_PROXY")
        http = (value("http_proxy") ?? all).map(Self.read)
        https = (value("https_proxy", "HTTPS_PROXY") ?? all).map(Self.read)
        exceptions = ProxyHostPattern.list(value("no_proxy", "NO_PROXY")?.text ?? "")
    }

    private static func read(_ variable: (name: String, text: String)) -> Reading {
        do {
            return .success(try Proxy(variable.text))
        } catch let error as CurlewError {
            return .failure(CurlewError(error.code, "\(variable.name) cannot be used: \(error.message)"))
        } catch {
            return .failure(CurlewError(.invalidURL, "\(variable.name) cannot be used"))
        }
    }

    func proxy(for uri: URI) throws -> Proxy? {
        guard let reading = uri.layout.isSecure ? https : http, !exceptions.match(uri) else { return nil }
        return try reading.get()
    }
}
