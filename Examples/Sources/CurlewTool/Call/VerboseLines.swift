import Curlew
import Glibc
import HTTPTypes
import TerminalOutput

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
