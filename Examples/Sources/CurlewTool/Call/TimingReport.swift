import Curlew
import HTTPTypes

/// The times, the connection and the bytes of a call, for `--timing` and `--write-out`.
struct TimingReport {
    private struct Hop {
        var method: String
        var url: String
        var status: Int?
        var attempt: TaskMetrics.Attempt
    }

    private let hops: [Hop]
    private let response: CurlewResponse
    private let size: Int64
    private let total: Duration

    init(_ tasks: [TaskActor], _ response: CurlewResponse, size: Int64) async {
        var hops: [Hop] = []
        var total = Duration.zero
        for task in tasks {
            let metrics = await task.metrics
            total += metrics.duration
            let status = await task.status?.code
            hops += metrics.attempts.map { attempt in
                Hop(
                    method: "\(task.request.method)", url: task.request.uri.description, status: status,
                    attempt: attempt)
            }
        }
        self.hops = hops
        self.response = response
        self.size = size
        self.total = total
    }

    /// The lines of `--timing`, for each exchange of the call.
    var text: String {
        hops.isEmpty ? "\nno exchange: the response came from the cache\n" : hops.map { "\n" + Self.text($0) }.joined()
    }

    private static func text(_ hop: Hop) -> String {
        let attempt = hop.attempt
        var lines = ["\(hop.method) \(hop.url)\(hop.status.map { ": \($0)" } ?? "")"]
        func add(_ name: String, _ value: String?) { if let value { lines.append("  \(pad(name, 12))\(value)") } }
        add("connection", connection(attempt))
        add("wait", attempt.waited > .milliseconds(1) ? milliseconds(attempt.waited) : nil)
        add("name", attempt.nameLookup.map(milliseconds))
        add("connect", attempt.connect.map(milliseconds))
        add("TLS", attempt.tls.map(milliseconds))
        add("first byte", attempt.firstByte.map(milliseconds))
        add("total", milliseconds(attempt.total))
        add("sent", "\(Units.bytes(attempt.sentFieldBytes)) head, \(Units.bytes(attempt.sentBodyBytes)) body")
        add(
            "received", "\(Units.bytes(attempt.receivedHeadBytes)) head, \(Units.bytes(attempt.receivedBodyBytes)) body"
        )
        return lines.map { "\(printable($0))\n" }.joined()
    }

    private static func connection(_ attempt: TaskMetrics.Attempt) -> String {
        var parts: [String] = []
        if let address = attempt.remoteAddress {
            parts.append(
                address.contains(":") ? "[\(address)]:\(attempt.remotePort)" : "\(address):\(attempt.remotePort)")
        }
        if let version = attempt.version { parts.append("\(version)") }
        if let security = attempt.security { parts.append("\(security.tlsVersion) \(security.cipher)") }
        if attempt.isProxied { parts.append("proxy") }
        parts.append(attempt.isReused ? "reused" : "new")
        return parts.joined(separator: ", ")
    }

    private static func milliseconds(_ duration: Duration) -> String {
        "\(Units.tenth(duration / .milliseconds(1))) ms"
    }
}

extension TimingReport {
    /// The text of `--write-out`, with curl's variables and escapes. Unknown variables are empty.
    /// - Parameter isTerminal: True for a text without control characters in its values.
    func writeOut(_ format: String, isTerminal: Bool) -> String {
        var text = ""
        var rest = format[...]
        while let character = rest.popFirst() {
            switch character {
            case "\\":
                switch rest.popFirst() {
                case "n": text += "\n"
                case "r": text += "\r"
                case "t": text += "\t"
                case let other?: text += "\\\(other)"
                case nil: text += "\\"
                }
            case "%" where rest.hasPrefix("{"):
                guard let end = rest.firstIndex(of: "}") else { return text + "%" + rest }
                let value = value(of: String(rest[rest.index(after: rest.startIndex)..<end]))
                // The server has chosen some of the values.
                text += isTerminal ? printable(value) : value
                rest = rest[rest.index(after: end)...]
            case "%" where rest.hasPrefix("%"):
                text += "%"
                rest = rest.dropFirst()
            default: text.append(character)
            }
        }
        return text
    }

    private func value(of variable: String) -> String {
        let attempt = hops.last?.attempt
        switch variable {
        case "http_code", "response_code": return "\(response.status.code)"
        case "http_version":
            return response.version.major >= 2
                ? "\(response.version.major)" : "\(response.version.major).\(response.version.minor)"
        case "content_type": return response.fields[.contentType] ?? ""
        case "method": return hops.last?.method ?? ""
        case "url_effective": return response.uri.description
        case "scheme": return response.uri.scheme
        case "redirect_url":
            return response.fields[.location].flatMap { try? response.uri.resolving($0).description } ?? ""
        case "num_redirects": return "\(response.history.count)"
        case "num_connects": return "\(hops.count { !$0.attempt.isReused })"
        case "remote_ip": return attempt?.remoteAddress ?? ""
        case "remote_port": return attempt.map { "\($0.remotePort)" } ?? ""
        case "size_download": return "\(size)"
        case "size_header": return attempt.map { "\($0.receivedHeadBytes)" } ?? "0"
        case "size_upload": return attempt.map { "\($0.sentBodyBytes)" } ?? "0"
        case "time_total": return Self.seconds(total)
        case "time_namelookup": return Self.seconds(attempt?.nameLookup ?? .zero)
        case "time_connect": return Self.seconds((attempt?.nameLookup ?? .zero) + (attempt?.connect ?? .zero))
        case "time_appconnect": return Self.seconds(attempt?.tls.map { $0 } ?? .zero)
        case "time_starttransfer": return Self.seconds(attempt?.firstByte ?? .zero)
        default: return ""
        }
    }

    /// Seconds with six digits after the point, as in curl.
    private static func seconds(_ duration: Duration) -> String {
        let microseconds = Int64(duration / .microseconds(1))
        let rest = "\(microseconds % 1_000_000)"
        return "\(microseconds / 1_000_000).\(String(repeating: "0", count: 6 - rest.count))\(rest)"
    }
}
