internal import HTTPTypes

/// The rules for storing a response (RFC 9111 §3).
extension CacheJudge {
    /// Fields that apply to a single connection or hop, and are not stored (§3.1).
    static let connectionFields: Set<HTTPField.Name> = Set(
        [
            "Connection", "Keep-Alive", "Proxy-Connection", "TE", "Transfer-Encoding", "Upgrade", "Proxy-Authenticate",
            "Proxy-Authentication-Info", "Proxy-Authorization", "Set-Cookie", "Set-Cookie2", "Cache-Status",
        ].compactMap { HTTPField.Name($0) })

    /// Makes the entry of a response to a GET or a QUERY; nil if it must not be stored.
    /// - Parameters:
    ///   - response: The response from the network.
    ///   - request: The request that the cache has forwarded.
    ///   - sent: The credentials of the request as it was sent, including those of links behind the cache.
    ///   - now: The time of the response.
    func entry(
        for response: CurlewResponse, to request: CacheRequest, sent: CacheRequest.Credentials, at now: Int64
    ) -> HTTPCache.Entry? {
        guard request.isRetrieval, request.policy != .noStore, !request.directives.noStore else {
            return nil
        }
        let fields = response.fields
        let rules = CacheRules(response.head, responseTime: now)
        guard isStorable(response.status, rules), mayStore(rules, sent, request.partition) else { return nil }
        var range: Range<Int64>?
        if response.status == .partialContent {
            guard let part = partialRange(fields) else { return nil }
            range = part
        }
        var selectors: [HTTPCache.Entry.Selector] = []
        if rules.varies {
            guard let chosen = CacheVariant.selectors(of: fields, request.request) else { return nil }
            selectors = chosen
        }
        var head = response.head
        head.headerFields = stored(fields, rules)
        return HTTPCache.Entry(
            id: HTTPCache.Entry.ID(), key: request.key, uri: response.uri.requestText, head: head,
            version: response.version,
            selectors: selectors, requestTime: request.time, responseTime: now, range: range,
            bodySize: range.map { $0.upperBound - $0.lowerBound } ?? response.body.length ?? -1, rules: rules)
    }

    /// Statuses that concern only the single request: its credentials, conditions, range, duration or size.
    private static let ownStatuses: Set<Int> = [304, 401, 407, 408, 412, 416, 417, 431]

    private func isStorable(_ status: HTTPResponse.Status, _ rules: CacheRules) -> Bool {
        guard status.code >= 200, !Self.ownStatuses.contains(status.code) else { return false }
        let directives = rules.effective(in: mode).directives
        if directives.mustUnderstand {
            guard status.isUnderstoodByCaches else { return false }
        } else if directives.noStore {
            return false
        }
        if mode == .shared, directives.isPrivate == .response { return false }
        return status.isHeuristicallyCacheable || hasExplicitFreshness(rules, directives)
    }

    private func hasExplicitFreshness(_ rules: CacheRules, _ directives: CacheDirectives) -> Bool {
        directives.isPublic || directives.maxAge != nil || rules.expires != .none
            || (mode == .shared ? directives.sharedMaxAge != nil : directives.isPrivate != .nothing)
    }

    private func mayStore(_ rules: CacheRules, _ sent: CacheRequest.Credentials, _ partition: String?) -> Bool {
        let directives = rules.effective(in: mode).directives
        if mode != .singleUser, rules.setsCookies, !directives.isPublic, partition == nil { return false }
        return admits(sent, directives, partition)
    }

    /// True if the cache stores responses to requests with such credentials.
    private func admits(_ sent: CacheRequest.Credentials, _ directives: CacheDirectives, _ partition: String?) -> Bool {
        switch mode {
        case .singleUser: return true
        case .shared:
            if sent.contains(.other), partition == nil { return false }
            return !sent.contains(.authorization) || directives.allowsAuthorization
        default: return sent.isEmpty || partition != nil
        }
    }

    /// Statuses that do not describe the resource. They concern a part, the conditions and other fields of the single
    /// request, its connection, a proxy, or the present moment.
    private static let passingStatuses: Set<Int> = [
        206, 304, 407, 408, 412, 416, 417, 421, 425, 426, 428, 429, 431,
    ]

    /// True if a response that cannot be stored takes the place of the stored ones all the same: it is a full response,
    /// to a user whose responses the cache stores (§4.3.3).
    func replaces(_ response: CurlewResponse, to request: CacheRequest, sent: CacheRequest.Credentials) -> Bool {
        guard response.status.code < 500, !Self.passingStatuses.contains(response.status.code) else { return false }
        // A challenge to a request without credentials does not refuse the resource.
        if response.status == .unauthorized, sent.isEmpty, response.fields.contains(.wwwAuthenticate) { return false }
        let directives = CacheRules(response.fields).effective(in: mode).directives
        return admits(sent, directives, request.partition)
    }

    /// The bytes of a part that can be combined with others: a single range with a strong validator.
    private func partialRange(_ fields: HTTPFields) -> Range<Int64>? {
        guard let content = try? ContentRange(fields), let range = content.range, content.total != nil,
            ResumeToken.Validator(fields) != nil
        else { return nil }
        return range
    }

    /// The fields that are stored.
    /// - Parameter rules: The rules, already read from the fields.
    func stored(_ fields: HTTPFields, _ rules: CacheRules) -> HTTPFields {
        let directives = rules.effective(in: mode).directives
        // Fields in no-cache must not be used without validation (§5.2.2.4); fields in private must not be stored by a
        // shared cache (§5.2.2.7).
        let named = directives.noCache.names + (mode == .shared ? directives.isPrivate.names : [])
        guard rules.hasExcludedFields || !named.isEmpty else { return fields }
        var excluded = Self.connectionFields
        for value in fields[values: .connection] {
            for name in value.utf8.split(separator: .comma) {
                let name = String(decoding: Array(name)[...].trimmingBlanks, as: UTF8.self)
                if let name = HTTPField.Name(name) { excluded.insert(name) }
            }
        }
        for name in named { if let name = HTTPField.Name(name) { excluded.insert(name) } }
        return fields.filter { !excluded.contains($0.name) }
    }
}

/// The effect of a response to a validation or to HEAD on an entry (RFC 9111 §3.2, §4.3.4, §4.3.5).
extension CacheJudge {
    /// Fields of the stored response that are kept, because they describe its body.
    ///
    /// A digest in a 304 or in a response to HEAD describes their empty content (RFC 9530 §2).
    private static let keptFields: Set<HTTPField.Name> = HTTPFields.contentDigests.union([
        .contentLength, .contentEncoding, .contentRange,
    ])

    /// The entry with the fields of a newer response.
    func updated(_ entry: HTTPCache.Entry, by fields: HTTPFields, requested: Int64, at now: Int64) -> HTTPCache.Entry {
        // A weak comparison may have selected the entry. Its tag must not become a strong one (§4.3.4).
        let hasTag = entry.rules.hasEntityTag
        let newer = stored(fields, CacheRules(fields)).filter { field in
            !Self.keptFields.contains(field.name) && !(hasTag && field.name == .eTag)
        }
        // Without its own Date, the newer response dates from the present time.
        let names = Set(newer.map(\.name)).union([.date, .age])
        var head = entry.head
        head.headerFields = head.headerFields.filter { !names.contains($0.name) } + newer
        // The new fields may restrict the storing of older ones.
        head.headerFields = stored(head.headerFields, CacheRules(head, responseTime: now))
        return entry.updating(head: head, requestTime: requested, responseTime: now)
    }

    /// An entry with the fields of a newer response, and the further use of the stored one.
    struct Refreshed {
        /// The further use of the stored entry.
        enum Outcome {
            /// The new entry replaces the stored one.
            case replaces
            /// The stored entry is unchanged: the cache does not store for the credentials of the newer response.
            case leaves
            /// The stored entry is removed: such a response must not be stored, or it can never be selected again.
            case removes
        }

        var entry: HTTPCache.Entry
        var outcome: Outcome
    }

    /// Updates an entry by a 304 or a response to HEAD. The rules for a new response apply (§3, §4.1).
    ///
    /// From now on the present request selects the entry, because the content was confirmed for it.
    /// - Parameter sent: The credentials of the request as it was sent; nil if links have made another request of it.
    func refreshed(
        _ entry: HTTPCache.Entry, by fields: HTTPFields, to request: CacheRequest, sent: CacheRequest.Credentials?,
        at now: Int64
    ) -> Refreshed {
        let merged = updated(entry, by: fields, requested: request.time, at: now)
        let rules = merged.rules
        guard isStorable(merged.head.status, rules),
            let selectors = CacheVariant.selectors(of: merged.head.headerFields, request.request)
        else { return Refreshed(entry: merged, outcome: .removes) }
        guard let sent, mayStore(rules, sent, request.partition) else {
            return Refreshed(entry: merged, outcome: selectors == entry.selectors ? .leaves : .removes)
        }
        return Refreshed(entry: merged.updating(selectors: selectors), outcome: .replaces)
    }

    /// True if a 304 applies to an entry: its validators are those of the entry, or it has none (§4.3.4).
    static func isValidated(_ entry: HTTPCache.Entry, by fields: HTTPFields) -> Bool {
        let stored = entry.head.headerFields
        let tags = EntityTag.values(in: fields)
        if !tags.isEmpty { return EntityTag.isSame(tags, EntityTag.values(in: stored)) }
        if let date = fields[.lastModified], let known = stored[.lastModified] {
            return date.utf8.elementsEqual(known.utf8)
        }
        return true
    }

    /// True if a response to HEAD describes the stored representation (§4.3.5).
    static func isSame(_ entry: HTTPCache.Entry, as fields: HTTPFields) -> Bool {
        let stored = entry.head.headerFields
        for name in [HTTPField.Name.eTag, .lastModified] {
            let (values, known) = (fields[fields: name], stored[fields: name])
            if !values.isEmpty, !known.isEmpty, !HTTPFields(values).hasSameBytes(as: HTTPFields(known)) { return false }
        }
        guard entry.range == nil, let length = fields[.contentLength] else { return true }
        return ContentLength.read(length.utf8) == entry.bodySize
    }
}

/// Entity tags (RFC 9110 §8.8.3).
enum EntityTag {
    /// The bytes of the values of ETag: a single one in a valid response.
    static func values(in fields: HTTPFields) -> [[UInt8]] {
        fields[fields: .eTag].map { field in field.withTrimmedValue { Array($0) } }
    }

    /// True if the tags are equal by the weak comparison (§8.8.3.2).
    static func isSame(_ tags: [[UInt8]], _ others: [[UInt8]]) -> Bool {
        tags.map(opaque) == others.map(opaque)
    }

    private static func opaque(_ tag: [UInt8]) -> ArraySlice<UInt8> {
        tag.starts(with: "W/".utf8) ? tag.dropFirst(2) : tag[...]
    }

    /// The entity tags in If-None-Match; nil for `*`.
    static func list(_ fields: HTTPFields) -> [[UInt8]]? {
        var tags: [[UInt8]] = []
        for field in fields[fields: .ifNoneMatch] {
            var scanner = ByteScanner(field.withUnsafeBytesOfValue { Array($0) })
            while !scanner.isAtEnd {
                scanner.skip { $0.isBlank || $0 == .comma }
                if scanner.take(UInt8(ascii: "*")) { return nil }
                var tag = Array(scanner.take { $0 != .quote && $0 != .comma })
                if scanner.take(.quote) {
                    tag.append(.quote)
                    tag += scanner.take { $0 != .quote }
                    _ = scanner.take(.quote)
                    tag.append(.quote)
                }
                if !tag.isEmpty { tags.append(tag) }
            }
        }
        return tags
    }
}
