internal import Curlew
internal import HTTPTypes

/// Where cookies have been set, by session name. Nothing stores them yet: a later request of that session to there
/// would go out without what it should have.
struct SessionCookies {
    private struct Origin: Hashable {
        let session: String?
        let host: String
    }

    private var hosts: Set<Origin> = []
    private var domains: Set<Origin> = []

    /// Notes what a response sets: for its host, and for the domain that a cookie names (RFC 6265 §5.2.3).
    mutating func note(_ response: Response, session: String?) {
        for field in response.fields[fields: .setCookie] {
            hosts.insert(Origin(session: session, host: response.uri.host.lowercased()))
            guard let domain = Self.domain(of: field.value) else { continue }
            domains.insert(Origin(session: session, host: domain))
        }
    }

    /// Whether a request to that host may have to carry cookies.
    func mayApply(to host: String, session: String?) -> Bool {
        let host = host.lowercased()
        if hosts.contains(Origin(session: session, host: host)) { return true }
        return domains.contains { $0.session == session && (host == $0.host || host.hasSuffix("." + $0.host)) }
    }

    private static func domain(of cookie: String) -> String? {
        for attribute in cookie.split(separator: ";").dropFirst() {
            let parts = attribute.split(separator: "=", maxSplits: 1).map { $0.filter { $0 != " " && $0 != "\t" } }
            guard parts.count == 2, parts[0].lowercased() == "domain" else { continue }
            return String(parts[1].lowercased().trimmingPrefix("."))
        }
        return nil
    }
}
