import ArgumentParser
import Curlew
import HTTPTypes
import TerminalOutput

/// The request that a command line describes.
struct RequestLine: Sendable, Equatable {
    struct Field: Sendable, Equatable {
        var name: String
        /// nil removes a field that would be sent otherwise.
        var value: RequestItem.Value?
    }

    struct Pair: Sendable, Equatable {
        var name: String
        var value: RequestItem.Value
    }

    struct Member: Sendable, Equatable {
        var name: String
        var value: RequestItem.Value
        /// True if the value is written in JSON, false if it is a text.
        var isJSON: Bool
    }

    enum Content: Sendable, Equatable {
        case empty
        /// `--data` and its relatives: a form, unless a field has another type.
        case data([DataPiece])
        /// `--json`: texts in JSON, written one after the other.
        case jsonData([DataPiece])
        /// The members of a JSON object.
        case members([Member])
        case parts([FormPart])
        /// `@file`: the bytes of a file, with the type that its name suggests; `-` is standard input.
        case file(String)
        /// `--upload-file`: the bytes of a file, without a type; `-` is standard input.
        case upload(String)
    }

    var method: HTTPRequest.Method
    var url: String
    var fields: [Field] = []
    var query: [Pair] = []
    /// `--get`: pieces of `--data` that belong to the query.
    var queryPieces: [DataPiece] = []
    var content = Content.empty
    /// `user:password`.
    var credential: String?

    /// Reads the words and the options.
    /// - Parameter words: `[METHOD] URL [item…]`.
    /// - Throws: `ValidationError`.
    init(_ words: [String], _ options: RequestWords) throws {
        var words = words[...]
        var named = options.method
        if words.count > 1, let first = words.first, Self.isMethod(first) {
            guard named == nil else { throw ValidationError("The method is there twice: \(first) and --request.") }
            named = first.uppercased()
            words.removeFirst()
        }
        guard let url = words.popFirst() else { throw ValidationError("There is no URL.") }
        self.url = Self.absolute(url)
        method = .get
        try addFields(of: options)
        content = try Self.content(of: options)
        try add(words.map(RequestItem.init))
        if options.usesGet {
            switch content {
            case .data(let pieces): queryPieces = pieces
            case .empty: break
            default: throw ValidationError("--get is for --data.")
            }
            content = .empty
        }
        // libcurl sends these by itself.
        for field in fields where field.value == nil && ["accept", "host"].contains(field.name.lowercased()) {
            throw ValidationError("\(field.name) cannot be removed.")
        }
        method = try Self.method(named, content, options)
    }

    // MARK: Parts of the command line

    private static let methods: Set<String> = [
        "get", "head", "post", "put", "patch", "delete", "options", "query", "trace",
    ]

    /// True for a method: capital letters, or a known method in any letters.
    private static func isMethod(_ word: String) -> Bool {
        let areCapitals = !word.isEmpty && word.utf8.allSatisfy { (0x41...0x5A).contains($0) }
        return areCapitals || methods.contains(word.lowercased())
    }

    /// The URL with a scheme: `http` is assumed, and `:8080/path` is on this machine.
    static func absolute(_ url: String) -> String {
        let beginning = url.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) }
        if !beginning.isEmpty, url.dropFirst(beginning.count).hasPrefix("://") { return url }
        if url.hasPrefix(":"), !url.hasPrefix("::") {
            return url.hasPrefix(":/") ? "http://localhost\(url.dropFirst())" : "http://localhost\(url)"
        }
        return url.hasPrefix("//") ? "http:\(url)" : "http://\(url)"
    }

    private mutating func addFields(of options: RequestWords) throws {
        for line in options.fields { fields.append(try Field(line: line)) }
        if let agent = options.userAgent { set("User-Agent", agent) }
        if let referer = options.referer { set("Referer", referer) }
        if let range = options.range { set("Range", "bytes=\(range)") }
        if let cookie = options.cookie {
            guard cookie.contains("=") else {
                throw ValidationError("--cookie takes name=value; files of cookies cannot be read.")
            }
            set("Cookie", cookie)
        }
        credential = options.user
    }

    /// Adds a field, unless the command line has it. An empty value removes the field, as in curl.
    private mutating func set(_ name: String, _ value: String) {
        if !hasField(name) { fields.append(Field(name: name, value: value.isEmpty ? nil : .text(value))) }
    }

    func hasField(_ name: String) -> Bool { fields.contains { $0.name.lowercased() == name.lowercased() } }

    private static func content(of options: RequestWords) throws -> Content {
        let kinds = [!options.data.isEmpty, !options.json.isEmpty, !options.form.isEmpty, options.uploadFile != nil]
        guard kinds.count(where: { $0 }) <= 1 else {
            throw ValidationError("--data, --json, --form and --upload-file exclude each other.")
        }
        if !options.data.isEmpty { return .data(options.data) }
        if !options.json.isEmpty { return .jsonData(options.json) }
        if !options.form.isEmpty { return .parts(options.form) }
        return options.uploadFile.map { .upload($0) } ?? .empty
    }

    private mutating func add(_ items: [RequestItem]) throws {
        var members: [Member] = []
        var files: [FormPart] = []
        var body: String?
        for item in items {
            switch item {
            case .field(let name, let value): fields.append(Field(name: name, value: value))
            case .query(let name, let value): query.append(Pair(name: name, value: value))
            case .member(let name, let value): members.append(Member(name: name, value: value, isJSON: false))
            case .json(let name, let value): members.append(Member(name: name, value: value, isJSON: true))
            case .file(let name, let path, let type):
                files.append(FormPart(name: name, content: .file(path), type: type))
            case .body(let path):
                guard body == nil else { throw ValidationError("There is one @file for the body.") }
                body = path
            }
        }
        guard !members.isEmpty || !files.isEmpty || body != nil else { return }
        guard content == .empty else {
            throw ValidationError("--data, --json, --form and --upload-file cannot be used with items for the body.")
        }
        guard body == nil || (members.isEmpty && files.isEmpty) else {
            throw ValidationError("@file is the complete body; there can be no other items for it.")
        }
        if let body {
            content = .file(body)
        } else if files.isEmpty {
            content = .members(members)
        } else {
            content = .parts(try members.map(Self.part) + files)
        }
    }

    /// A member as a part of a form that also has files.
    private static func part(_ member: Member) throws -> FormPart {
        guard !member.isJSON else {
            throw ValidationError("A form with files has no JSON: \(printable(member.name)):=")
        }
        switch member.value {
        case .text(let text): return FormPart(name: member.name, content: .text(text))
        case .file(let path): return FormPart(name: member.name, content: .textOfFile(path))
        }
    }

    private static func method(
        _ named: String?, _ content: Content, _ options: RequestWords
    ) throws -> HTTPRequest.Method {
        if options.isHead {
            guard content == .empty else { throw ValidationError("A request with --head has no body.") }
            guard named == nil || named == "HEAD" else {
                throw ValidationError("--head and a method exclude each other.")
            }
            return .head
        }
        if let named {
            guard let method = HTTPRequest.Method(named) else {
                throw ValidationError("\"\(printable(named))\" is no method.")
            }
            return method
        }
        switch content {
        case .empty: return .get
        case .upload: return .put
        default: return .post
        }
    }
}

extension RequestLine.Field {
    /// Reads a line of `--header`: `Name: value`, `Name:` to remove the field, `Name;` for an empty one.
    fileprivate init(line: String) throws {
        if let colon = line.firstIndex(of: ":") {
            name = String(line[..<colon])
            let text = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            value = text.isEmpty ? nil : .text(String(text))
        } else if line.hasSuffix(";") {
            name = String(line.dropLast())
            value = .text("")
        } else {
            throw ValidationError("\"\(printable(line))\" is no field: write Name: value.")
        }
        guard HTTPField.Name(name) != nil else {
            throw ValidationError("\"\(printable(name))\" is no name of a field.")
        }
    }
}
