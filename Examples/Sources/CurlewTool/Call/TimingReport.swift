import Curlew
import HTTPTypes
import TerminalOutput

/// The times, the connection and the bytes of a call, for `--timing` and `--write-out`.
struct TimingReport {
    private struct Hop {
        var method: String
        var url: String
        var status: Int?
        var attempt: TaskMetrics.Attempt
    }

    private let hops: [Hop]
    private let result: CallResult
    private let total: Duration

    init(_ tasks: [TaskActor], _ result: CallResult) async {
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
        self.result = result
        self.total = total
    }

    /// The lines of `--timing`, for each exchange of the call.
    var text: String {
        guard hops.isEmpty else { return hops.map { "\n" + Self.text($0) }.joined() }
        return result.response == nil ? "" : "\nno exchange: the response came from the cache\n"
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
    /// The text of `--write-out`, with curl's variables and escapes.
    /// - Parameter isTerminal: True for a text without control characters in its values.
    /// - Returns: The text, and the names of unknown variables, which are empty in it.
    func writeOut(_ format: String, isTerminal: Bool) -> (text: String, unknown: [String]) {
        var text = ""
        var unknown: [String] = []
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
                guard let end = rest.firstIndex(of: "}") else { return (text + "%" + rest, unknown) }
                let name = String(rest[rest.index(after: rest.startIndex)..<end])
                let known = value(of: name)
                if known == nil { unknown.append(name) }
                let value = known ?? ""
                // The server has chosen some of the values.
                text += isTerminal ? printable(value) : value
                rest = rest[rest.index(after: end)...]
            case "%" where rest.hasPrefix("%"):
                text += "%"
                rest = rest.dropFirst()
            default: text.append(character)
            }
        }
        return (text, unknown)
    }

    /// The value of a variable; nil for an unknown one.
    private func value(of variable: String) -> String? {
        let attempt = hops.last?.attempt
        let response = result.response
        switch variable {
        case "http_code", "response_code": return response.map { "\($0.status.code)" } ?? "000"
        case "http_version": return response.map { Self.number(of: $0.version) } ?? "0"
        case "content_type": return response?.fields[.contentType] ?? ""
        case "method": return hops.last?.method ?? ""
        case "url": return result.url
        case "url_effective": return response?.uri.description ?? hops.last?.url ?? result.url
        case "scheme": return response?.uri.scheme ?? ""
        case "redirect_url":
            return response?.fields[.location].flatMap { try? response?.uri.resolving($0).description } ?? ""
        case "num_redirects": return "\(response?.history.count ?? 0)"
        case "exitcode": return "\(result.error.map { ExitStatus.status(ofCallWith: $0) ?? ExitStatus.usage } ?? 0)"
        case "errormsg": return (result.error as? CurlewError)?.message ?? ""
        case "num_connects": return "\(hops.count { !$0.attempt.isReused })"
        case "remote_ip": return attempt?.remoteAddress ?? ""
        case "remote_port": return attempt.map { "\($0.remotePort)" } ?? ""
        case "size_download": return "\(result.size)"
        case "size_header": return attempt.map { "\($0.receivedHeadBytes)" } ?? "0"
        case "size_upload": return attempt.map { "\($0.sentBodyBytes)" } ?? "0"
        case "time_total": return Self.seconds(total)
        case "time_namelookup": return Self.seconds(attempt?.nameLookup ?? .zero)
        case "time_connect": return Self.seconds((attempt?.nameLookup ?? .zero) + (attempt?.connect ?? .zero))
        case "time_appconnect": return Self.seconds(attempt?.tls.map { $0 } ?? .zero)
        case "time_starttransfer": return Self.seconds(attempt?.firstByte ?? .zero)
        default: return nil
        }
    }

    private static func number(of version: HTTPProtocolVersion) -> String {
        version.major >= 2 ? "\(version.major)" : "\(version.major).\(version.minor)"
    }

    /// Seconds with six digits after the point, as in curl.
    private static func seconds(_ duration: Duration) -> String {
        let microseconds = Int64(duration / .microseconds(1))
        let rest = "\(microseconds % 1_000_000)"
        return "\(microseconds / 1_000_000).\(String(repeating: "0", count: 6 - rest.count))\(rest)"
    }
}
