/// An id: returned byte for byte, and compared as a value.
struct Identifier: Sendable {
    let value: JSONValue
    let text: [UInt8]

    /// The id of a line without one.
    static let null = Identifier(value: .null, text: Array("null".utf8))
}

/// An input line as a list of members, read as far as possible.
struct RequestLine: Sendable {
    private(set) var id = Identifier.null
    /// All members except the id.
    private(set) var members: [JSONValue.Member] = []
    /// The reason why the line is invalid, if it is.
    private(set) var problem: String?

    init(_ line: InputLine) {
        switch line {
        case .line(let bytes): read(bytes)
        case .tooLong(let beginning):
            read(beginning)
            problem = "the line is longer than \(LineReader.limit) bytes"
        }
    }

    private mutating func read(_ bytes: [UInt8]) {
        var reader = JSONReader(bytes)
        var names: Set<String> = []
        do {
            try reader.members { member, text in
                guard names.insert(member.name).inserted else {
                    throw LineProblem.unusable("the member \(member.name) stands there twice")
                }
                if member.name == "id" {
                    id = Identifier(value: member.value, text: Array(text))
                } else {
                    members.append(member)
                }
            }
            try reader.end()
        } catch let error as JSONReader.Problem {
            problem = "not a JSON object: \(error.reason) (byte \(error.offset))"
        } catch LineProblem.unusable(let reason) {
            problem = reason
        } catch {
            problem = "\(error)"
        }
    }
}
