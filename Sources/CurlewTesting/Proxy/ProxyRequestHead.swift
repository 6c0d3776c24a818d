#if TestKit
/// The head of a request to an HTTP proxy; only the parts that a proxy needs are parsed.
struct ProxyRequestHead: Sendable {
    let text: String
    let method: String
    let target: String
    private let lines: [Substring]

    init(_ text: String) {
        self.text = text
        self.lines = text.split(separator: "\r\n")
        let words = self.lines.first?.split(separator: " ") ?? []
        self.method = words.first.map(String.init) ?? ""
        self.target = words.dropFirst().first.map(String.init) ?? ""
    }

    /// The first value of a field; `name` is in lower case.
    func field(_ name: String) -> String? {
        for line in self.lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":"), line[..<colon].lowercased() == name else { continue }
            return String(line[line.index(after: colon)...].drop { $0 == " " })
        }
        return nil
    }

    /// The host and port of the target, in authority form or absolute form.
    var authority: (host: String, port: Int)? {
        var rest = Substring(self.target)
        if rest.hasPrefix("http://") { rest = rest.dropFirst(7) }
        rest = rest.prefix { $0 != "/" && $0 != "?" }
        if let at = rest.lastIndex(of: "@") { rest = rest[rest.index(after: at)...] }
        if rest.hasPrefix("["), let end = rest.firstIndex(of: "]") {
            let host = rest[rest.index(after: rest.startIndex)..<end]
            let port = Int(rest[end...].dropFirst(2)) ?? 80
            return (String(host), port)
        }
        let parts = rest.split(separator: ":")
        guard let host = parts.first else { return nil }
        return (String(host), parts.dropFirst().first.flatMap { Int($0) } ?? 80)
    }

    /// The head as forwarded to the server: in origin form, without the proxy's own fields, with `Connection: close`.
    var forwarded: String {
        let afterScheme = self.target.dropFirst(self.target.hasPrefix("http://") ? 7 : 0)
        let path = afterScheme.drop { $0 != "/" }
        let kept = self.lines.dropFirst().filter { line in
            let name = line.prefix { $0 != ":" }.lowercased()
            return name != "connection" && !name.hasPrefix("proxy-")
        }
        let first = "\(self.method) \(path.isEmpty ? "/" : path) HTTP/1.1"
        return ([first] + kept.map(String.init) + ["Connection: close"]).joined(separator: "\r\n") + "\r\n\r\n"
    }

    /// The credentials of `Proxy-Authorization: Basic`.
    var credentials: MockProxy.Credentials? {
        guard let value = self.field("proxy-authorization"), value.lowercased().hasPrefix("basic ") else { return nil }
        let text = String(decoding: Base64.decode(value.dropFirst(6)), as: UTF8.self)
        guard let colon = text.firstIndex(of: ":") else { return nil }
        return .init(user: String(text[..<colon]), password: String(text[text.index(after: colon)...]))
    }
}
#endif
