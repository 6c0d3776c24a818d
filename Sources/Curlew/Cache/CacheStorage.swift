internal import HTTPTypes

/// What of a response may be stored, and how (RFC 9111 §3).
extension CacheJudge {
    /// Fields that speak of one connection or one hop, and are not stored (§3.1).
    static let connectionFields: Set<HTTPField.Name> = Set(
        [
            "Connection", "Keep-Alive", "Proxy-Connection", "TE", "Transfer-Encoding", "Upgrade", "Proxy-Authenticate",
            "Proxy-Authentication-Info", "Proxy-Authorization", "Set-Cookie", "Set-Cookie2", "Cache-Status",
        ].compactMap { HTTPField.Name($0) })

    /// Makes the entry of a response to a GET or a QUERY; nil if it may not be stored.
    /// - Parameters:
    ///   - response: As it came.
    ///   - request: As the cache has forwarded it.
    ///   - sent: The credentials that it had when it left, those that links behind the cache have added among them.
    ///   - now: When the response came.
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

    /// Statuses that are about the very request: its credentials, its conditions, its range, its pace, its size.
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
        switch mode {
        case .singleUser: return true
        case .shared:
            if sent.contains(.other), partition == nil { return false }
            return !sent.contains(.authorization) || directives.allowsAuthorization
        default: return sent.isEmpty || partition != nil
        }
    }

    /// The bytes of a part that can be put together with others: one range, and a validator that tells its representation.
    private func partialRange(_ fields: HTTPFields) -> Range<Int64>? {
        guard let content = try? ContentRange(fields), let range = content.range, content.total != nil,
            ResumeToken.Validator(fields) != nil
        else { return nil }
        return range
    }

    /// The fields that are stored.
    /// - Parameter rules: What was read of them.
    func stored(_ fields: HTTPFields, _ rules: CacheRules) -> HTTPFields {
        let directives = rules.effective(in: mode).directives
        // What is named by no-cache may not be used again without validation (§5.2.2.4); by private not by others (§5.2.2.7).
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

/// What a response to a validation, or to HEAD, changes of an entry (RFC 9111 §3.2, §4.3.4, §4.3.5).
extension CacheJudge {
    /// Fields of the stored response that stay, as they speak of its body.
    private static let keptFields: Set<HTTPField.Name> = [.contentLength, .contentEncoding, .contentRange]

    /// The entry with the fields of a newer response.
    func updated(_ entry: HTTPCache.Entry, by fields: HTTPFields, requested: Int64, at now: Int64) -> HTTPCache.Entry {
        let newer = stored(fields, CacheRules(fields)).filter { !Self.keptFields.contains($0.name) }
        // Without a Date of its own the newer response is from now on.
        let names = Set(newer.map(\.name)).union([.date, .age])
        var head = entry.head
        head.headerFields = head.headerFields.filter { !names.contains($0.name) } + newer
        // Fields that came before may be restricted now.
        head.headerFields = stored(head.headerFields, CacheRules(head, responseTime: now))
        return entry.updating(head: head, requestTime: requested, responseTime: now)
    }

    /// An entry with the fields of a newer response, and the use that may be made of it after this one.
    struct Refreshed {
        /// The future of the stored entry.
        enum Outcome {
            /// The entry takes the place of the stored one.
            case replaces
            /// The stored entry stays as it is: the newer response is for credentials that the cache does not store for.
            case leaves
            /// The stored entry goes: no such response may be stored, or it cannot be selected again.
            case removes
        }

        var entry: HTTPCache.Entry
        var outcome: Outcome
    }

    /// Refreshes an entry by a 304, or by a response to HEAD, under the rules that hold for a new response (§3, §4.1).
    ///
    /// The entry is then selected by the request that was answered now, as that is the one that its content was confirmed for.
    /// - Parameter sent: The credentials that the request had when it left; nil if another request was made of it.
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

    /// True if a 304 is about an entry: its validators are the entry's, or it has none (§4.3.4).
    static func isValidated(_ entry: HTTPCache.Entry, by fields: HTTPFields) -> Bool {
        let stored = entry.head.headerFields
        if let tag = fields[.eTag] {
            guard let known = stored[.eTag] else { return false }
            return EntityTag.isSame(tag, known)
        }
        if let date = fields[.lastModified], let known = stored[.lastModified] {
            return date.utf8.elementsEqual(known.utf8)
        }
        return true
    }

    /// True if a response to HEAD is about an entry: what it says of the representation is what is stored (§4.3.5).
    static func isSame(_ entry: HTTPCache.Entry, as fields: HTTPFields) -> Bool {
        let stored = entry.head.headerFields
        for name in [HTTPField.Name.eTag, .lastModified] {
            if let value = fields[name], let known = stored[name], !value.utf8.elementsEqual(known.utf8) {
                return false
            }
        }
        guard entry.range == nil, let length = fields[.contentLength] else { return true }
        return ContentLength.read(length.utf8) == entry.bodySize
    }
}

/// Entity tags (RFC 9110 §8.8.3).
enum EntityTag {
    /// The weak comparison (§8.8.3.2).
    static func isSame(_ one: String, _ other: String) -> Bool {
        opaque(one).elementsEqual(opaque(other))
    }

    private static func opaque(_ tag: String) -> Substring.UTF8View {
        tag.hasPrefix("W/") ? tag.dropFirst(2).utf8 : tag[...].utf8
    }

    /// The tags of If-None-Match; nil for `*`.
    static func list(_ values: [String]) -> [String]? {
        var tags: [String] = []
        for value in values {
            var scanner = ByteScanner(value.utf8)
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
                let text = String(decoding: tag, as: UTF8.self)
                if !text.isEmpty { tags.append(text) }
            }
        }
        return tags
    }
}
