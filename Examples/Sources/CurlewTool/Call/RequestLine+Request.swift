import Curlew
import FoundationEssentials
import HTTPTypes

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
        var pieces: [String] = []
        for pair in query {
            let value = PercentEncoding.encoded(Array(try await pair.value.text().utf8))
            pieces.append("\(PercentEncoding.encoded(Array(pair.name.utf8)))=\(value)")
        }
        for piece in queryPieces { pieces.append(String(decoding: try await piece.bytes(), as: UTF8.self)) }
        if !pieces.isEmpty { uri = try uri.appending(query: pieces.joined(separator: "&")) }
        return uri
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
            guard let value = try await field.value?.text() else { continue }
            request.fields.append(HTTPField(name: name, value: value))
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
                request.body = .bytes(try await Self.joined(pieces, by: "&"))
            }
        case .jsonData(let pieces):
            request.fields[.contentType] = "application/json"
            request.fields[.accept] = "application/json"
            request.body = .bytes(try await Self.joined(pieces, by: ""))
        case .members(let members):
            request.fields[.contentType] = "application/json"
            request.fields[.accept] = "application/json, */*;q=0.5"
            request.body = .bytes(try await Self.json(members))
        case .parts(let parts):
            var form = MultipartFormData()
            for part in parts { try await part.append(to: &form) }
            request.fields[.contentType] = form.contentType
            request.body = form.body
        case .file("-"): request.body = .once(InputChunks("-"))
        case .file(let path):
            request.body = .file(path)
            if method != .put {
                let name = path.split(separator: "/").last.map(String.init) ?? path
                request.fields[.contentType] = MultipartFormData.contentType(forFileNamed: name)
            }
        }
    }

    private static func joined(_ pieces: [DataPiece], by separator: String) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        for (index, piece) in pieces.enumerated() {
            if index > 0 { bytes += separator.utf8 }
            bytes += try await piece.bytes()
        }
        return bytes
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
    /// The request line with `***` for values whose names mean a secret.
    func maskingSecrets() -> RequestLine {
        func masked(_ name: String, _ value: RequestItem.Value) -> RequestItem.Value {
            if case .text = value, SecretName.isSecret(name) { .text("***") } else { value }
        }
        var line = self
        if let mark = url.firstIndex(of: "?") {
            let pieces = DataPiece(.raw, String(url[url.index(after: mark)...])).maskingSecrets()
            line.url = "\(url[...mark])\(pieces.text)"
        }
        line.query = query.map { Pair(name: $0.name, value: masked($0.name, $0.value)) }
        line.queryPieces = queryPieces.map { $0.maskingSecrets() }
        switch content {
        case .data(let pieces): line.content = .data(pieces.map { $0.maskingSecrets() })
        case .jsonData(let pieces): line.content = .jsonData(pieces.map(Self.maskingJSON))
        case .members(let members):
            line.content = .members(
                members.map { member in
                    guard case .text = member.value, SecretName.isSecret(member.name) else { return member }
                    return Member(name: member.name, value: .text("***"), isJSON: false)
                })
        case .parts(let parts): line.content = .parts(parts.map { $0.maskingSecrets() })
        case .empty, .file: break
        }
        return line
    }

    private static func maskingJSON(_ piece: DataPiece) -> DataPiece {
        guard !piece.text.hasPrefix("@"), let value = try? JSONValue(parsing: Array(piece.text.utf8)) else {
            return piece
        }
        let bytes = maskingSecrets(of: value).jsonBytes()
        return DataPiece(piece.kind, String(decoding: bytes, as: UTF8.self))
    }

    private static func maskingSecrets(of value: JSONValue) -> JSONValue {
        switch value {
        case .array(let values): return .array(values.map(maskingSecrets))
        case .object(let object):
            var masked = JSONValue.Object()
            for (name, value) in object {
                masked[name] = SecretName.isSecret(name) ? "***" : maskingSecrets(of: value)
            }
            return .object(masked)
        default: return value
        }
    }
}
