import Curlew
import HTTPTypes

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
