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
        let target = showsSecrets ? request.target : SecretText.maskedQuery(of: request.target)
        var lines = ["> \(request.method) \(target)", "> Host: \(request.uri.authority)"]
        for field in request.fields {
            lines.append("> \(field.name.rawName): \(shown.contains(field.name) ? field.value : "***")")
        }
        write(lines + [">"])
    }

    private func write(_ response: CurlewResponse) {
        var lines = ["< \(ResponseHeads.statusLine(response.version, response.status))"]
        lines += response.fields.map { "< \($0.name.rawName): \(value(of: $0))" }
        if let security = response.security { lines.append("* \(security.tlsVersion), \(security.cipher)") }
        write(lines + ["<"])
    }

    /// The value of a response's field, with `***` in place of secrets: those of secret fields, of cookies, and in the
    /// queries of references.
    private func value(of field: HTTPField) -> String {
        if showsSecrets { return field.value }
        switch field.name {
        case .setCookie:
            let name = field.value.prefix { $0 != "=" && $0 != ";" }
            return "\(name)=***\(field.value.drop { $0 != ";" })"
        case .location, .contentLocation: return SecretText.maskedQuery(of: field.value)
        default: return SecretText.isSecret(field.name.rawName) ? "***" : field.value
        }
    }

    private func write(_ lines: [String]) {
        Terminal.write(lines.map { "\(printable($0))\n" }.joined(), to: STDERR_FILENO)
    }
}
