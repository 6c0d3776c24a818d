internal import HTTPTypes

/// A request from the cache's point of view: its key, its directives, and its eligibility for a stored response.
struct CacheRequest {
    let request: CurlewRequest
    let key: HTTPCache.Entry.Key
    /// True if the options of the request determine the source of its response completely.
    let hasKnownSource: Bool
    let directives: CacheDirectives
    let policy: HTTPCache.Policy
    /// The time of the request's arrival at the cache, in seconds since 1970.
    let time: Int64
    /// The content of a QUERY, if it could be read.
    private let content: QueryContent?
    private let contentWords: [(name: String, value: String)]

    /// - Parameter content: The content of a QUERY; nil if it could not be read, and for other methods.
    init(_ request: CurlewRequest, at time: Int64, content: QueryContent? = nil) {
        self.request = request
        self.time = time
        policy = request.options.cachePolicy ?? .standard
        let words = content.flatMap { try? $0.words() }
        self.content = words == nil ? nil : content
        contentWords = words ?? []
        let source = ResponseSource.of(request, contentWords)
        key = Self.key(of: request, source)
        hasKnownSource =
            switch source.knowledge {
            case .complete: true
            case .withPartition: request.options.cachePartition != nil
            case .none: false
            }
        var directives = CacheDirectives()
        if request.fields.contains(.cacheControl) {
            directives = CacheDirectives(request.fields)
        } else if request.fields.contains(.pragma) {
            // Pragma applies only without Cache-Control (RFC 9111 §5.4).
            let values = request.fields[values: .pragma]
            if values.contains(where: { $0.lowercased().contains("no-cache") }) {
                directives = CacheDirectives([.cacheControl: "no-cache"])
            }
        }
        self.directives = directives
    }

    /// The caller's partition.
    var partition: String? { request.options.isAnySet ? request.options.cachePartition : nil }

    /// The key of the request: its target, its partition and the source of its response.
    ///
    /// Requests that a server may distinguish never have the same key: paths and queries are compared in the form in
    /// which they are sent, dot segments and escapes included. The source is a part of the partition, so a change of a
    /// resource removes the entries of all sources.
    static func key(of request: CurlewRequest, _ source: ResponseSource) -> HTTPCache.Entry.Key {
        let partition = request.options.isAnySet ? request.options.cachePartition : nil
        return HTTPCache.Entry.Key(uri: key(of: request.uri), partition: source.partition(partition))
    }

    /// The URI with its host in lower case, without the default port of its scheme, fragment and user information.
    static func key(of uri: CurlewURI) -> String { uri.normalizedText }

    /// The key of responses with No-Vary-Search.
    var noVarySearchKey: HTTPCache.Entry.Key {
        HTTPCache.Entry.Key(uri: NoVarySearch.key(of: request.uri), partition: key.partition)
    }

    /// True if the cache can answer the method, and no field overrides the method.
    var isCacheable: Bool {
        let isKnown =
            request.method == .query
            ? content != nil : (request.method == .get || request.method == .head) && request.body.isNone
        return isKnown && request.trailers.isEmpty && !overridesMethod
    }

    /// True if the response to the method can be stored, completely or in parts.
    var isRetrieval: Bool { request.method == .get || request.method == .query }

    /// True if a server may read the method from a field.
    private var overridesMethod: Bool {
        request.fields.contains { Self.overrides.contains($0.name) }
    }

    private static let overrides = Set(
        ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"].compactMap { HTTPField.Name($0) })

    /// True unless the method is safe (RFC 9110 §9.2.1, RFC 10008 §2). A field that overrides the method makes a
    /// request unsafe.
    var isUnsafe: Bool {
        switch request.method {
        case .get, .head, .query, .options, .trace: overridesMethod
        default: true
        }
    }

    /// The credentials of a request.
    struct Credentials: OptionSet {
        let rawValue: Int
        static let authorization = Credentials(rawValue: 1)
        static let other = Credentials(rawValue: 2)
    }

    var credentials: Credentials {
        let own = request.options.isAnySet ? request.options.secretFields : []
        var found = Self.credentials(of: request.fields, own)
        if request.uri.userInformation != nil { found.insert(.authorization) }
        if request.options.isAnySet, request.options.engineCredential != nil { found.insert(.authorization) }
        return found
    }

    /// The credentials of the request in the form in which it was sent. nil if links behind the cache have made another
    /// request of it, or one with other values for Vary.
    func credentials(asSentFor response: CurlewResponse) -> Credentials? {
        var credentials = self.credentials
        guard let sent = response.exchange?.request ?? response.sentRequest else { return credentials }
        if let content {
            guard let sentContent = QueryContent(of: sent), content.isSame(as: sentContent) else { return nil }
        }
        let isSame = sent.uri == request.uri && sent.fields.hasSameBytes(as: request.fields)
        if isSame, !sent.options.isAnySet { return credentials }
        guard Self.key(of: sent, ResponseSource.of(sent, contentWords)) == key else { return nil }
        let marked = sent.options.secretFields.union(request.options.secretFields)
        credentials.formUnion(Self.credentials(of: sent.fields, marked))
        if sent.uri.userInformation != nil || sent.options.engineCredential != nil {
            credentials.insert(.authorization)
        }
        for value in response.fields[values: .vary] {
            for name in value.utf8.split(separator: .comma) {
                let name = String(decoding: name.filter { !$0.isBlank }, as: UTF8.self)
                guard let name = HTTPField.Name(name) else { continue }
                let (own, other) = (sent.fields[fields: name], request.fields[fields: name])
                guard own.count == other.count, zip(own, other).allSatisfy({ $0.hasSameBytes(as: $1) }) else {
                    return nil
                }
            }
        }
        return credentials
    }

    /// - Parameter marked: The names that the caller has marked as secret, in addition to the known ones.
    static func credentials(of fields: HTTPFields, _ marked: Set<HTTPField.Name>) -> Credentials {
        var found: Credentials = []
        for field in fields where SecretFields.identifiesUser(field.name) || marked.contains(field.name) {
            found.insert(field.name == .authorization ? .authorization : .other)
        }
        return found
    }

    /// True if the caller's request has conditions.
    var isConditional: Bool {
        request.fields.contains { Self.conditions.contains($0.name) }
    }

    /// True if the request has conditions that only the origin can evaluate (RFC 9111 §4.3.2).
    var isForOrigin: Bool { request.fields.contains(.ifMatch) || request.fields.contains(.ifUnmodifiedSince) }

    private static let conditions: Set<HTTPField.Name> = [
        .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince, .ifRange,
    ]
}

/// The choice among the responses of a URI by the fields in Vary (RFC 9111 §4.1).
enum CacheVariant {
    /// The most fields in Vary for a response to be stored.
    static let nameLimit = 32
    /// The most bytes of the values of these fields.
    static let valueLimit = 16 << 10

    /// The selecting fields of a request for a response. nil if the response can never be selected again because of
    /// `*`, too many names or too long values.
    static func selectors(of response: HTTPFields, _ request: CurlewRequest) -> [HTTPCache.Entry.Selector]? {
        guard response.contains(.vary) else { return [] }
        var names: Set<String> = []
        for value in response[values: .vary] {
            for element in value.utf8.split(separator: .comma) {
                let name = Array(element)[...].trimmingBlanks
                if name.isEmpty { continue }
                guard name.allSatisfy(\.isTokenByte), !name.contains(UInt8(ascii: "*")) else { return nil }
                names.insert(String(decoding: name, as: UTF8.self).lowercased())
                guard names.count <= nameLimit else { return nil }
            }
        }
        var selectors: [HTTPCache.Entry.Selector] = []
        var size = 0
        for name in names.sorted() {
            guard let field = HTTPField.Name(name), let value = Self.value(of: field, in: request)
            else { return nil }
            size += value.text?.utf8.count ?? 0
            guard size <= valueLimit else { return nil }
            selectors.append(HTTPCache.Entry.Selector(name: name, value: value.text))
        }
        return selectors
    }

    /// True if a request selects a response that was stored with selectors.
    static func matches(_ selectors: [HTTPCache.Entry.Selector], _ request: CurlewRequest) -> Bool {
        selectors.allSatisfy { selector in
            guard let name = HTTPField.Name(selector.name) else { return false }
            guard let value = value(of: name, in: request) else { return false }
            return value.text.hasSameBytes(as: selector.value)
        }
    }

    private struct Value {
        let text: String?
    }

    /// The combined values of a field, without insignificant spaces, and in lower case where case is insignificant. A
    /// secret is hashed.
    ///
    /// nil if hashing fails.
    private static func value(of name: HTTPField.Name, in request: CurlewRequest) -> Value? {
        let present = request.fields.filter { $0.name == name }
        guard !present.isEmpty else { return Value(text: nil) }
        var bytes = Array(
            present.map { field in field.withUnsafeBytesOfValue { Array($0) } }.joined(separator: [.comma]))
        if !bytes.contains(.quote) {
            let elements = bytes.split(separator: .comma).map { $0.trimmingBlanks }
            bytes = Array(elements.joined(separator: [.comma]))
        }
        if caseless.contains(name) { bytes = bytes.map(\.lowercasedASCII) }
        let text = Self.text(of: bytes)
        if request.isSecret(name) { return (try? MessageDigest.hash(text, by: .sha256)).map { Value(text: $0) } }
        return Value(text: text)
    }

    /// The bytes as text, with a different text for each value: bytes that are not UTF-8 are written in hexadecimal.
    private static func text(of bytes: [UInt8]) -> String {
        let mark = "bytes:"
        if let text = String(validating: bytes, as: UTF8.self), !bytes.starts(with: mark.utf8) { return text }
        return mark + bytes.hexadecimal
    }

    private static let caseless: Set<HTTPField.Name> = [.acceptEncoding, .acceptLanguage]
}
