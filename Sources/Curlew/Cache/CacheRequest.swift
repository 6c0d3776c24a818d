internal import HTTPTypes

/// A request as the cache sees it: its key, its directives, and whether it may be answered from a store at all.
struct CacheRequest {
    let request: CurlewRequest
    let key: HTTPCache.Entry.Key
    /// True if the options of the request leave no doubt of what answers it.
    let hasKnownSource: Bool
    let directives: CacheDirectives
    let policy: HTTPCache.Policy
    /// When it came to the cache, in seconds since 1970.
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
            // Only without Cache-Control (RFC 9111 §5.4).
            let values = request.fields[values: .pragma]
            if values.contains(where: { $0.lowercased().contains("no-cache") }) {
                directives = CacheDirectives([.cacheControl: "no-cache"])
            }
        }
        self.directives = directives
    }

    /// The caller's partition.
    var partition: String? { request.options.isAnySet ? request.options.cachePartition : nil }

    /// The request target, and with it the partition and the source of the response.
    ///
    /// Two requests that a server may tell apart never have one key: paths and queries are compared as they are sent, dot segments
    /// and escapes included. The source is part of the partition, so that a change of a resource removes its entries of all sources.
    static func key(of request: CurlewRequest, _ source: ResponseSource) -> HTTPCache.Entry.Key {
        let partition = request.options.isAnySet ? request.options.cachePartition : nil
        return HTTPCache.Entry.Key(uri: key(of: request.uri), partition: source.partition(partition))
    }

    /// The URI with its host in lower case, and without the port of its scheme, fragment and user information.
    static func key(of uri: CurlewURI) -> String { uri.normalizedText }

    /// The key that responses with No-Vary-Search are found under.
    var noVarySearchKey: HTTPCache.Entry.Key {
        HTTPCache.Entry.Key(uri: NoVarySearch.key(of: request.uri), partition: key.partition)
    }

    /// True if the method is one that the cache answers, and nothing in the request makes another one of it.
    var isCacheable: Bool {
        let isKnown =
            request.method == .query
            ? content != nil : (request.method == .get || request.method == .head) && request.body.isNone
        return isKnown && request.trailers.isEmpty && !overridesMethod
    }

    /// True if a response to the method may be stored, and whole representations and parts of them make sense for it.
    var isRetrieval: Bool { request.method == .get || request.method == .query }

    /// True if a server may take the method from a field.
    private var overridesMethod: Bool {
        request.fields.contains { Self.overrides.contains($0.name) }
    }

    private static let overrides = Set(
        ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"].compactMap { HTTPField.Name($0) })

    /// True unless the method is safe (RFC 9110 §9.2.1, RFC 10008 §2), or is another one in truth.
    var isUnsafe: Bool {
        switch request.method {
        case .get, .head, .query, .options, .trace: overridesMethod
        default: true
        }
    }

    /// The credentials that a request carries.
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

    /// The credentials that the request had when it left; nil if links behind the cache have made another request of it, or one that Vary
    /// selects otherwise.
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
            for name in value.split(separator: ",") {
                guard let name = HTTPField.Name(name.filter { $0 != " " && $0 != "\t" }) else { continue }
                let (own, other) = (sent.fields[fields: name], request.fields[fields: name])
                guard own.count == other.count, zip(own, other).allSatisfy({ $0.hasSameBytes(as: $1) }) else {
                    return nil
                }
            }
        }
        return credentials
    }

    /// - Parameter marked: The names that the caller has marked as secret, beside those that are known.
    static func credentials(of fields: HTTPFields, _ marked: Set<HTTPField.Name>) -> Credentials {
        var found: Credentials = []
        for field in fields where SecretFields.identifiesUser(field.name) || marked.contains(field.name) {
            found.insert(field.name == .authorization ? .authorization : .other)
        }
        return found
    }

    /// True if the caller asks under conditions of its own.
    var isConditional: Bool {
        request.fields.contains { Self.conditions.contains($0.name) }
    }

    /// True if it is under conditions that only the origin can judge (RFC 9111 §4.3.2).
    var isForOrigin: Bool { request.fields.contains(.ifMatch) || request.fields.contains(.ifUnmodifiedSince) }

    private static let conditions: Set<HTTPField.Name> = [
        .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince, .ifRange,
    ]
}

/// The choice among responses of one URI by what Vary names (RFC 9111 §4.1).
enum CacheVariant {
    /// The most fields that Vary may name for a response to be stored.
    static let nameLimit = 32
    /// The most bytes of their values.
    static let valueLimit = 16 << 10

    /// The selecting fields of a request for a response; nil if it cannot be selected again: by `*`, by too many names, by too
    /// long values.
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

    /// The values as one, without the space that means nothing; in lower case where case means nothing. A secret is hashed.
    ///
    /// nil if it cannot be hashed.
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

    /// The bytes as text, so that no two values have one text: bytes that are no UTF-8 in hexadecimal.
    private static func text(of bytes: [UInt8]) -> String {
        let mark = "bytes:"
        if let text = String(validating: bytes, as: UTF8.self), !bytes.starts(with: mark.utf8) { return text }
        return mark + bytes.hexadecimal
    }

    private static let caseless: Set<HTTPField.Name> = [.acceptEncoding, .acceptLanguage]
}
