#if TestKit
internal import Curlew
internal import HTTPTypes

/// The requests that one handler of a ``StubTransport`` answers.
struct StubRoute: Sendable {
    let method: HTTPRequest.Method?
    let path: StubPath
    let times: Int?
    let handler: StubTransport.Handler
    var uses = 0

    init(method: HTTPRequest.Method?, path: StubPath, times: Int?, handler: @escaping StubTransport.Handler) {
        self.method = method
        self.path = path
        self.times = times
        self.handler = handler
    }

    func matches(_ request: StubRequest) -> Bool {
        guard self.uses < self.times ?? .max, self.method == nil || self.method == request.method else { return false }
        return self.path.matches(request.path, query: request.uri.query)
    }

    /// The method and the pattern: `GET /users/*`.
    var name: String { "\(self.method?.rawValue ?? "any method") \(self.path.pattern)" }

    /// The message about too few uses; nil if there were enough.
    var complaint: String? {
        guard let times, self.uses < times else { return nil }
        return "\(self.name) was used \(self.uses) of \(times) times"
    }
}

/// A path pattern with wildcards.
struct StubPath: Sendable {
    let pattern: String
    private let segments: [Substring]
    private let query: Substring?

    init(_ pattern: String) {
        let parts = pattern.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        self.pattern = pattern
        self.segments = Self.segments(parts[0])
        self.query = parts.dropFirst().first
    }

    func matches(_ path: String, query: String?) -> Bool {
        if let wanted = self.query, wanted != query ?? "" { return false }
        let segments = Self.segments(path[...])
        for (index, wanted) in self.segments.enumerated() {
            if wanted == "**" && index == self.segments.count - 1 { return true }
            guard index < segments.count, wanted == "*" || wanted == segments[index] else { return false }
        }
        return segments.count == self.segments.count
    }

    /// The segments between the slashes; a leading slash is optional.
    private static func segments(_ path: Substring) -> [Substring] {
        (path.hasPrefix("/") ? path.dropFirst() : path).split(separator: "/", omittingEmptySubsequences: false)
    }
}
#endif
