import Curlew
import FoundationEssentials
import HTTPTypes
import TerminalOutput

extension RequestLine {
    /// The request. Files that the command line names are read, except bodies that can be streamed.
    func request(options: RequestOptions = RequestOptions()) async throws -> CurlewRequest {
        var request = CurlewRequest(method, try await uri(), options: options)
        request.fields[.userAgent] = SessionConfiguration.defaultUserAgent
        request.fields[.accept] = "*/*"
        if let authorization { request.fields[.authorization] = authorization }
        try await addBody(to: &request)
        try await addFields(to: &request)
        return request
    }

    private func uri() async throws -> CurlewURI {
        var uri = try CurlewURI(url)
        if let name = uploadName, uri.path.isEmpty || uri.path.hasSuffix("/") {
            let query = uri.query.map { "?\($0)" } ?? ""
            uri = try uri.resolving("./\(PercentEncoding.encoded(Array(name.utf8), space: "%20"))\(query)")
        }
        var pieces: [String] = []
        for pair in query {
            let value = PercentEncoding.encoded(Array(try await pair.value.text().utf8))
            pieces.append("\(PercentEncoding.encoded(Array(pair.name.utf8)))=\(value)")
        }
        for piece in queryPieces { pieces.append(String(decoding: try await piece.bytes(), as: UTF8.self)) }
        if !pieces.isEmpty { uri = try uri.appending(query: pieces.joined(separator: "&")) }
        return uri
    }

    /// The name of the file of `--upload-file`, which completes a path that ends in a slash, as in curl.
    private var uploadName: String? {
        guard case .upload(let path) = content, path != "-" else { return nil }
        return FileNames.name(ofPath: path)
    }

    /// The Authorization field of `--user`.
    private var authorization: String? {
        credential.map { credential in
            "Basic \(Data((credential.contains(":") ? credential : credential + ":").utf8).base64EncodedString())"
        }
    }

    private func addFields(to request: inout CurlewRequest) async throws {
        var replaced: Set<HTTPField.Name> = []
        for field in fields {
            guard let name = HTTPField.Name(field.name) else {
                throw CurlewError(.invalidRequest, "\"\(field.name)\" is no name of a field")
            }
            // The first line of a name replaces the tool's own; further lines add fields.
            if replaced.insert(name).inserted { request.fields[name] = nil }
            guard let text = try await field.value?.text() else { continue }
            // The type of a field would replace control characters by spaces.
            guard text.utf8.allSatisfy({ $0 == 0x09 || $0 >= 0x20 && $0 != 0x7F }) else {
                throw CurlewError(
                    .invalidRequest, "the value of \(field.name) has a line break or another control character")
            }
            request.fields.append(HTTPField(name: name, value: text))
        }
    }

    private func addBody(to request: inout CurlewRequest) async throws {
        switch content {
        case .empty: return
        case .data(let pieces):
            request.fields[.contentType] = "application/x-www-form-urlencoded"
            if pieces.count == 1, let path = pieces.first?.streamedPath, path != "-" {
                request.body = .file(path)
            } else {
                request.body = .bytes(try await DataPiece.bytes(of: pieces, separator: "&"))
            }
        case .jsonData(let pieces):
            request.fields[.contentType] = "application/json"
            request.fields[.accept] = "application/json"
            request.body = .bytes(try await DataPiece.bytes(of: pieces, separator: ""))
        case .members(let members):
            request.fields[.contentType] = "application/json"
            request.fields[.accept] = "application/json, */*;q=0.5"
            request.body = .bytes(try await Self.json(members))
        case .parts(let parts):
            var form = MultipartFormData()
            for part in parts { try await part.append(to: &form) }
            request.fields[.contentType] = form.contentType
            request.body = form.body
        case .file("-"), .upload("-"): request.body = .once(InputChunks("-"))
        case .upload(let path): request.body = .file(path)
        case .file(let path):
            request.body = .file(path)
            request.fields[.contentType] = MultipartFormData.contentType(forFileNamed: FileNames.name(ofPath: path))
        }
    }

    private static func json(_ members: [Member]) async throws -> [UInt8] {
        var object = JSONValue.Object()
        for member in members {
            let text = try await member.value.text()
            guard member.isJSON else {
                object[member.name] = .string(text)
                continue
            }
            do {
                object[member.name] = try JSONValue(parsing: Array(text.utf8))
            } catch {
                throw CurlewError(.invalidRequest, "the value of \(printable(member.name)):= is not JSON")
            }
        }
        return JSONValue.object(object).jsonBytes()
    }
}

extension RequestLine {
    /// The request line with `***` for values whose names mean a secret. Bodies from files are read, because they may
    /// contain secrets too.
    func maskingSecrets() async throws -> RequestLine {
        func masked(_ name: String, _ value: RequestItem.Value) -> RequestItem.Value {
            SecretText.isSecret(name) ? .text("***") : value
        }
        var line = self
        line.url = SecretText.maskedQuery(of: url)
        line.query = query.map { Pair(name: $0.name, value: masked($0.name, $0.value)) }
        line.queryPieces = try await Self.maskingSecrets(of: queryPieces, separator: "&")
        switch content {
        case .data(let pieces): line.content = .data(try await Self.maskingSecrets(of: pieces, separator: "&"))
        case .jsonData(let pieces): line.content = .jsonData(try await Self.maskingSecrets(of: pieces, separator: ""))
        case .members(let members): line.content = .members(try await Self.maskingSecrets(of: members))
        case .parts(let parts): line.content = .parts(parts.map { $0.maskingSecrets() })
        case .empty, .file, .upload: break
        }
        return line
    }

    private static func maskingSecrets(of pieces: [DataPiece], separator: String) async throws -> [DataPiece] {
        // A file that is streamed is named, and not read.
        if pieces.isEmpty || (pieces.count == 1 && pieces[0].streamedPath != nil) { return pieces }
        let bytes = try await DataPiece.bytes(of: pieces, separator: separator)
        return String(validating: bytes, as: UTF8.self).map { [DataPiece(.raw, SecretText.masked($0))] } ?? pieces
    }

    private static func maskingSecrets(of members: [Member]) async throws -> [Member] {
        var masked = members
        for (index, member) in members.enumerated() {
            if SecretText.isSecret(member.name) {
                masked[index] = Member(name: member.name, value: .text("***"), isJSON: false)
            } else if member.isJSON {
                masked[index].value = .text(SecretText.masked(try await member.value.text()))
            }
        }
        return masked
    }
}
