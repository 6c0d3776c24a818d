import Curlew
import Glibc
import HTTPTypes
import TerminalOutput

/// The heads of a response and of the redirects before it.
struct ResponseHeads {
    /// The heads as HTTP/1.1 writes them, each with an empty line at its end.
    let text: String

    init(_ response: CurlewResponse) {
        var text = ""
        for redirect in response.history {
            text += Self.text(response.version, redirect.status, redirect.fields)
        }
        // A decoded response lacks the fields of the coded one.
        var fields = response.fields
        fields.append(contentsOf: response.encodedFields)
        self.text = text + Self.text(response.version, response.status, fields)
    }

    static func statusLine(_ version: HTTPProtocolVersion, _ status: HTTPResponse.Status) -> String {
        "\(version) \(status.code)\(status.reasonPhrase.isEmpty ? "" : " \(status.reasonPhrase)")"
    }

    private static func text(
        _ version: HTTPProtocolVersion, _ status: HTTPResponse.Status, _ fields: HTTPFields
    ) -> String {
        let lines = fields.map { "\($0.name.rawName): \($0.value)\r\n" }
        return "\(statusLine(version, status))\r\n\(lines.joined())\r\n"
    }
}

/// The lines of `--verbose` on standard error: both heads and the connection of each attempt.
struct VerboseLines: Sendable {
    let isOn: Bool
    let showsSecrets: Bool

    /// The link that writes the lines.
    var link: Link {
        Link { [self] request, next in
            guard isOn else { return try await next(request) }
            write(request)
            let response = try await next(request)
            write(response)
            return response
        }
    }

    private func write(_ request: CurlewRequest) {
        let shown = showsSecrets ? request.fields : request.removingSecrets().fields
        var lines = ["> \(request.method) \(request.target)", "> Host: \(request.uri.authority)"]
        for field in request.fields {
            lines.append("> \(field.name.rawName): \(shown.contains(field.name) ? field.value : "***")")
        }
        write(lines + [">"])
    }

    private func write(_ response: CurlewResponse) {
        var lines = ["< \(ResponseHeads.statusLine(response.version, response.status))"]
        lines += response.fields.map { "< \($0.name.rawName): \($0.value)" }
        if let security = response.security { lines.append("* \(security.tlsVersion), \(security.cipher)") }
        write(lines + ["<"])
    }

    private func write(_ lines: [String]) {
        Terminal.write(lines.map { "\(printable($0))\n" }.joined(), to: STDERR_FILENO)
    }
}
