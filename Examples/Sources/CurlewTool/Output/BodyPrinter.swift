import Curlew
import HTTPTypes

/// The form in which a body is printed.
struct BodyPrinter {
    private enum Form {
        /// The bytes as they are.
        case raw
        /// Text on a terminal.
        case text(TerminalText)
        case json(JSONPrinter)
    }

    private var form: Form
    /// The last byte that was printed.
    private var last: UInt8?

    /// - Parameters:
    ///   - fields: The fields of the response.
    ///   - isTerminal: True for a terminal, whose text is escaped, and whose JSON is formatted.
    ///   - isColored: True for colours; they format JSON without a terminal, too.
    init(for fields: HTTPFields, isTerminal: Bool, isColored: Bool) {
        if Self.isJSON(fields), isTerminal || isColored {
            form = .json(JSONPrinter(isColored: isColored))
        } else {
            form = isTerminal ? .text(TerminalText()) : .raw
        }
    }

    mutating func print(_ bytes: [UInt8]) -> [UInt8] {
        let output: [UInt8]
        switch form {
        case .raw: return bytes
        case .text(var text):
            output = text.text(bytes)
            form = .text(text)
        case .json(var json):
            output = json.print(bytes)
            form = .json(json)
        }
        last = output.last ?? last
        return output
    }

    /// The end of the output. On a terminal, the last line ends.
    mutating func finish() -> [UInt8] {
        switch form {
        case .raw: return []
        case .text(var text):
            let output = text.finish()
            guard let last = output.last ?? last else { return [] }
            return last == 0x0A ? output : output + [0x0A]
        case .json(var json): return json.finish()
        }
    }

    static func isJSON(_ fields: HTTPFields) -> Bool {
        guard fields[.contentEncoding] == nil, let type = ContentType(contentTypeOf: fields) else { return false }
        return type.suffix == "json"
            || ["application/json", "text/json", "application/x-ndjson", "application/jsonl"]
                .contains(type.essence)
    }

    /// True for bytes that are not text: curl's rule, a byte of zero, and any content coding.
    static func isBinary(_ bytes: [UInt8], _ fields: HTTPFields) -> Bool {
        bytes.contains(0) || (fields[.contentEncoding] != nil && !bytes.isEmpty)
    }
}
