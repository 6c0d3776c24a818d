internal import HTTPTypes

/// The response that an entry gives to a request: a pure function of both (RFC 9111 §4, §4.3.2).
struct CacheAnswer: Sendable, Hashable {
    let head: HTTPResponse
    /// The range of the stored body that the response contains; nil for a response without a body.
    let stored: Range<Int64>?

    /// nil if the entry lacks the requested bytes.
    init?(_ request: CacheRequest, _ entry: HTTPCache.Entry, age: Int64) {
        var head = entry.head
        head.headerFields[.age] = String(age)
        if entry.head.status == .ok || entry.head.status == .partialContent, request.isUnchanged(entry) {
            // RFC 9110 §15.4.5 requires some fields in a 304; fields that describe a body are removed.
            head.status = .notModified
            for name in [HTTPField.Name.contentLength, .contentRange, .contentEncoding, .contentType] {
                head.headerFields[name] = nil
            }
            head.headerFields.removeContentDigests()
            self.head = head
            stored = nil
            return
        }
        if request.request.method == .head {
            guard entry.range == nil else { return nil }
            // A response to HEAD has no content, and Content-Digest would describe it (RFC 9530 §B.2).
            head.headerFields.removeContentDigests()
            self.head = head
            stored = nil
            return
        }
        let first = entry.range?.lowerBound ?? 0
        if let total = entry.totalSize, entry.head.status == .ok || entry.range != nil,
            request.heedsRange(of: entry), let wanted = request.range(of: total)
        {
            guard first <= wanted.lowerBound, wanted.upperBound <= first + entry.bodySize else { return nil }
            head.status = .partialContent
            head.headerFields[.contentRange] = "bytes \(wanted.lowerBound)-\(wanted.upperBound - 1)/\(total)"
            head.headerFields[.contentLength] = String(wanted.upperBound - wanted.lowerBound)
            let stored = (wanted.lowerBound - first)..<(wanted.upperBound - first)
            if stored != 0..<entry.bodySize { head.headerFields.removeContentDigests() }
            self.head = head
            self.stored = stored
            return
        }
        guard entry.range == nil else { return nil }
        if head.headerFields.contains(.contentLength) { head.headerFields[.contentLength] = String(entry.bodySize) }
        self.head = head
        stored = 0..<entry.bodySize
    }

    /// The trailers of the answer: those of the entry, which have no digests of the stored content if the answer is a
    /// part of it.
    func trailers(of entry: HTTPCache.Entry) -> HTTPFields {
        guard let stored else { return HTTPFields() }
        return stored == 0..<entry.bodySize ? entry.trailers : entry.trailers.withoutContentDigests
    }
}

extension HTTPFields {
    /// The fields with a digest of the content of a single message (RFC 9530 §2, RFC 1864). Repr-Digest describes the
    /// complete representation.
    static let contentDigests: Set<HTTPField.Name> = Set(
        [.contentDigest] + ["Content-MD5"].compactMap { HTTPField.Name($0) })

    /// Removes the digests of the content, for a message with other content.
    mutating func removeContentDigests() { for name in Self.contentDigests { self[name] = nil } }

    /// The fields of a message with other content.
    var withoutContentDigests: HTTPFields {
        var fields = self
        fields.removeContentDigests()
        return fields
    }
}

extension CacheRequest {
    /// True if the caller's conditions show that it has the stored response (RFC 9110 §13.2.2).
    func isUnchanged(_ entry: HTTPCache.Entry) -> Bool {
        let fields = entry.head.headerFields
        if request.fields.contains(.ifNoneMatch) {
            guard let tags = EntityTag.list(request.fields) else { return true }
            let known = EntityTag.values(in: fields)
            return tags.contains { EntityTag.isSame([$0], known) }
        }
        guard let since = request.fields[.ifModifiedSince].flatMap({ HTTPDate($0) }) else { return false }
        let modified = entry.rules.lastModified ?? entry.rules.date
        return modified <= since.secondsSince1970
    }

    /// True if the requested range applies to an entry: without If-Range, or with the entry's strong validator (RFC
    /// 9110 §13.1.5).
    func heedsRange(of entry: HTTPCache.Entry) -> Bool {
        guard hasRange else { return false }
        guard let condition = request.fields[.ifRange] else { return true }
        return ResumeToken.Validator(entry.head.headerFields)?.value.utf8.elementsEqual(condition.utf8) ?? false
    }
}

/// The combination of a new part with a stored one (RFC 9111 §3.4).
struct CachePart {
    /// The entry that already has the bytes of the new part.
    private(set) var known: HTTPCache.Entry?
    /// The combined entry of both parts; nil if they cannot be combined.
    private(set) var joined: HTTPCache.Entry?
    /// The stored entry, and its bytes before the new part.
    private(set) var prefix: (entry: HTTPCache.Entry, bytes: Range<Int64>)?

    var isKnown: Bool { known != nil }

    init(_ new: HTTPCache.Entry, _ matching: [HTTPCache.Entry]) {
        guard let range = new.range, let total = new.totalSize,
            let validator = ResumeToken.Validator(new.head.headerFields)
        else { return }
        for old in matching where validator.fits(old.head.headerFields) && old.totalSize == total {
            let there = old.range ?? 0..<old.bodySize
            if there.lowerBound <= range.lowerBound, range.upperBound <= there.upperBound {
                known = old
                return
            }
            guard there.lowerBound < range.lowerBound, range.lowerBound <= there.upperBound else { continue }
            let both = there.lowerBound..<range.upperBound
            // The fields of a part may be limited to those that have changed (RFC 9110 §15.3.7), so the stored ones
            // complete them.
            var head = new.head
            let names = Set(head.headerFields.map(\.name))
            head.headerFields = old.head.headerFields.filter { !names.contains($0.name) } + head.headerFields
            let isWhole = both == 0..<total
            if isWhole {
                head.status = .ok
                head.headerFields[.contentRange] = nil
            } else {
                head.headerFields[.contentRange] = "bytes \(both.lowerBound)-\(both.upperBound - 1)/\(total)"
            }
            head.headerFields[.contentLength] = String(both.upperBound - both.lowerBound)
            head.headerFields.removeContentDigests()
            joined = HTTPCache.Entry(
                id: HTTPCache.Entry.ID(), key: new.key, uri: new.uri, head: head, version: new.version,
                selectors: new.selectors, requestTime: new.requestTime, responseTime: new.responseTime,
                range: isWhole ? nil : both, bodySize: both.upperBound - both.lowerBound)
            prefix = (old, 0..<(range.lowerBound - there.lowerBound))
            return
        }
    }
}
