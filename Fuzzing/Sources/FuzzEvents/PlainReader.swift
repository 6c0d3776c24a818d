internal import Curlew

/// A reader of complete event streams that follows WHATWG HTML §9.2.6 step by step, over text instead of bytes and
/// without bounds.
enum PlainReader {
    static func read(_ stream: [UInt8]) -> Outcome {
        var outcome = Outcome()
        var data: [String] = []
        var type = ""
        var identifier = ""
        for line in lines(of: stream) {
            guard !line.isEmpty else {
                outcome.lastEventID = identifier
                if !data.isEmpty {
                    outcome.events.append(
                        ServerSentEvent(
                            type: type.isEmpty ? "message" : type, data: data.joined(separator: "\n"),
                            lastEventID: identifier))
                }
                data = []
                type = ""
                continue
            }
            let (field, value) = parts(of: line)
            switch field {
            case "data": data.append(value)
            case "event": type = value
            case "id": if !value.unicodeScalars.contains("\0") { identifier = value }
            case "retry": outcome.reconnectionTime = time(value) ?? outcome.reconnectionTime
            default: break
            }
        }
        return outcome
    }

    /// The terminated lines, without a byte order mark before the first line.
    private static func lines(of stream: [UInt8]) -> [String] {
        var lines: [[UInt8]] = [[]]
        var rest = stream.starts(with: [0xEF, 0xBB, 0xBF]) ? stream.dropFirst(3) : stream[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\r"), rest.first == UInt8(ascii: "\n") { rest = rest.dropFirst() }
            if byte == UInt8(ascii: "\r") || byte == UInt8(ascii: "\n") {
                lines.append([])
            } else {
                lines[lines.count - 1].append(byte)
            }
        }
        return lines.dropLast().map { String(decoding: $0, as: UTF8.self) }
    }

    private static func parts(of line: String) -> (field: String, value: String) {
        let scalars = line.unicodeScalars
        guard let colon = scalars.firstIndex(of: ":") else { return (line, "") }
        var value = scalars[scalars.index(after: colon)...]
        if value.first == " " { value.removeFirst() }
        return (String(scalars[..<colon]), String(value))
    }

    private static func time(_ text: String) -> Duration? {
        let digits = text.utf8
        guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        let significant = digits.drop { $0 == 0x30 }
        guard significant.count <= 12 else { return .milliseconds(1_000_000_000_000) }
        return .milliseconds(significant.reduce(0) { $0 * 10 + Int64($1 - 0x30) })
    }
}
