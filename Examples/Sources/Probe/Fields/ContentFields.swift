internal import Curlew

extension Order {
    /// The serialized content of a request.
    struct Content: Sendable {
        var parameters: ParameterValue?
        var encoding: Encoding?
        var style: RequestParameters.Style?
        /// The parts of a form; an empty list is a form too.
        var parts: [FormPart]?

        enum Encoding: Sendable { case query, form, json, plist }
    }
}

extension FieldRule {
    /// The fields about the serialized content of a request.
    static let content: [FieldRule] = [
        FieldRule("parameters") { field, order in order.content.parameters = try ParameterValue(field.value) },
        FieldRule("encoding") { field, order in
            order.content.encoding = try field.choice([
                "query": .query, "form": .form, "json": .json, "plist": .plist,
            ])
        },
        FieldRule("style") { field, order in order.content.style = try RequestParameters.Style(field) },
        FieldRule("multipart") { field, order in
            order.content.parts = try field.elements("a list of parts").map { try FormPart($0) }
        },
    ]
}

extension Order.Content {
    /// The serializer of queries and forms, if it differs from the library's default.
    var pairSerializer: HTTPRequestSerializer? { style.map { HTTPRequestSerializer(style: $0) } }

    /// The encoding of the parameters. The library's named encodings use the style of their own serializer for queries.
    var requestEncoding: RequestParameters.Encoding {
        switch encoding {
        case nil: .automatic
        case .query: .query
        case .form: .form
        // JSON as AFNetworking writes it, independent of the session's dialect.
        case .json: .serializer(JSONRequestSerializer(base: pairSerializer ?? HTTPRequestSerializer()))
        case .plist: pairSerializer.map { .serializer(PropertyListRequestSerializer(base: $0)) } ?? .propertyList
        }
    }
}

extension ParameterValue {
    /// A JSON tree: objects in order, numbers with their original digits.
    /// - Throws: ``LineProblem`` for an object with two members of one name.
    fileprivate init(_ value: JSONValue) throws {
        switch value {
        case .null: self = .null
        case .bool(let flag): self = .boolean(flag)
        case .string(let text): self = .string(text)
        case .array(let elements): self = .array(try elements.map { try ParameterValue($0) })
        case .object(let members):
            let object = Object(try members.map { ($0.name, try ParameterValue($0.value)) })
            if object.count < members.count { throw Self.problem(ofNamesIn: members) }
            self = .dictionary(object)
        case .number(let digits): self = .number(Self.number(digits))
        }
    }

    /// Names of different code points that are equal as Swift strings are one name for the library.
    private static func problem(ofNamesIn members: [JSONValue.Member]) -> LineProblem {
        guard Set(members.map { Array($0.name.utf8) }).count < members.count else {
            return .unsupported("parameters with two names that are canonically equivalent")
        }
        return .unusable("an object of parameters has a member twice")
    }

    /// An integer if the digits are one: a property list distinguishes it from other numbers.
    private static func number(_ digits: String) -> ParameterValue.Number {
        if let integer = Int64(digits), "\(integer)" == digits { return Number(integer) }
        if let integer = UInt64(digits), "\(integer)" == digits { return Number(integer) }
        return Number(decimal: digits) ?? Number(Double(digits) ?? .nan)
    }
}

extension RequestParameters.Style {
    fileprivate init(_ field: FieldValue) throws {
        self.init()
        for (name, word) in try field.members() {
            switch name {
            case "arrays":
                arrays = try word.choice([
                    "brackets": .brackets, "indexed": .indexed, "repeated": .repeated, "comma": .commas,
                ])
            case "booleans": booleans = try word.choice(["numbers": .numeric, "words": .literal])
            case "keys": keyOrder = try word.choice(["sorted": .sorted, "given": .insertion])
            case "spaces": spaces = try word.choice(["percent": .percentEncoded, "plus": .plus])
            case "nulls": nulls = try word.choice(["name": .nameAlone, "empty": .empty, "omit": .dropped])
            default: throw LineProblem.unsupported(word.name)
            }
        }
    }
}

/// A form part as described by the line.
struct FormPart: Sendable {
    private enum Body {
        case text(String)
        case bytes([UInt8])
        case file(String)
    }

    private var name: String?
    private var fileName: String?
    private var type: String?
    private var fields: [RawField]?
    private var body: Body?

    /// - Throws: ``LineProblem`` for unknown or contradictory members.
    init(_ field: FieldValue) throws {
        for (name, member) in try field.members() {
            switch name {
            case "name": self.name = try member.string()
            case "filename": fileName = try member.string()
            case "type": type = try member.string()
            case "headers": fields = try member.rawFields()
            case "value": try set(.text(try member.string()), field)
            case "body": try set(.bytes(try member.bytes()), field)
            case "file": try set(.file(try member.string()), field)
            default: throw LineProblem.unsupported(member.name)
            }
        }
        guard body != nil else { throw field.wrong("a part with a value, a body or a file") }
        guard (name == nil) != (fields == nil) else { throw field.wrong("a part with either a name or headers") }
        guard fields == nil || (fileName == nil && type == nil) else {
            throw field.wrong("a part with headers and a body alone")
        }
    }

    private mutating func set(_ body: Body, _ field: FieldValue) throws {
        guard self.body == nil else { throw field.wrong("a part with one of value, body and file") }
        self.body = body
    }

    /// - Throws: ``CurlewError`` for an unreadable file, or for values that are invalid in a part's fields.
    func append(to form: inout MultipartFormData) throws {
        if let fields { return try form.append(content, fields: try fields.checked()) }
        let name = name ?? ""
        switch body {
        case .file(let path): try form.append(file: path, name: name, fileName: fileName, contentType: type)
        case .text(let text) where fileName == nil && type == nil: form.append(text, name: name)
        case nil, .text, .bytes: try form.append(content, name: name, fileName: fileName, contentType: type)
        }
    }

    private var content: CurlewRequest.Body {
        switch body {
        case nil: .bytes([])
        case .text(let text): .string(text)
        case .bytes(let bytes): .bytes(bytes)
        case .file(let path): .file(path)
        }
    }
}
