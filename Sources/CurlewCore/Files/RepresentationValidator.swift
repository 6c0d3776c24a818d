internal import HTTPTypes

extension ResumeToken {
    /// A strong validator: an entity tag, or a date, that identifies the bytes of a representation exactly.
    ///
    /// A resumed download sends it in If-Range (RFC 9110 §13.1.5), which forbids weak validators: a weak entity tag may
    /// be the same for representations with different bytes. A Last-Modified date is used only without an entity tag,
    /// and only if it is at least one second before the response's Date. Otherwise the file could have changed twice
    /// within that second (§8.8.2.2).
    public struct Validator: Sendable, Hashable, CustomStringConvertible {
        enum Kind: Sendable, Hashable {
            case entityTag, date
        }

        let kind: Kind
        /// The value for If-Range.
        package let value: String

        /// The most bytes of an entity tag that is used.
        static let lengthLimit = 1024

        public var description: String { value }

        /// The validator of a response; nil without a strong one.
        package init?(_ fields: HTTPFields) {
            let tags = fields[values: .eTag]
            if let tag = tags.first {
                guard tags.allSatisfy({ Self.isSame($0, tag) }) else { return nil }
                self.init(entityTag: tag)
            } else {
                let dates = fields[values: .lastModified]
                guard dates.count == 1, let modified = HTTPDate(dates[0]),
                    let sent = fields[.date].flatMap({ HTTPDate($0) }),
                    modified.secondsSince1970 < sent.secondsSince1970
                else { return nil }
                self.init(date: dates[0])
            }
        }

        /// A strong entity tag; nil for a weak or invalid one (§8.8.3).
        init?(entityTag tag: String) {
            let bytes = tag.utf8
            guard (2...Self.lengthLimit).contains(bytes.count), bytes.first == .quote, bytes.last == .quote,
                bytes.dropFirst().dropLast().allSatisfy({ (0x21...0x7E).contains($0) && $0 != .quote })
            else { return nil }
            kind = .entityTag
            value = tag
        }

        /// A date that is known to be strong.
        init?(date: String) {
            guard HTTPDate(date) != nil else { return nil }
            kind = .date
            value = date
        }

        /// True if a response to a range request may belong to the same representation.
        ///
        /// The response must repeat an entity tag, as the server has to send it (§15.3.7). A date may be missing, but
        /// must not differ. Without an original entity tag, the response must have none.
        package func fits(_ fields: HTTPFields) -> Bool {
            let tags = fields[values: .eTag]
            switch kind {
            case .entityTag: return !tags.isEmpty && tags.allSatisfy { Self.isSame($0, value) }
            case .date: return tags.isEmpty && fields[values: .lastModified].allSatisfy { Self.isSame($0, value) }
            }
        }

        /// Tags are compared byte by byte (§8.8.3.2). String comparison would normalize them, which can take a second.
        private static func isSame(_ left: String, _ right: String) -> Bool { left.utf8.elementsEqual(right.utf8) }
    }
}

extension ResumeToken.Validator: Codable {
    private enum CodingKeys: String, CodingKey { case entityTag, lastModified }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let read: ResumeToken.Validator?
        if let tag = try container.decodeIfPresent(String.self, forKey: .entityTag) {
            read = ResumeToken.Validator(entityTag: tag)
        } else {
            read = ResumeToken.Validator(date: try container.decode(String.self, forKey: .lastModified))
        }
        guard let read else { throw CurlewError(.invalidResumeToken, "the token's validator is none that is strong") }
        self = read
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(value, forKey: kind == .entityTag ? .entityTag : .lastModified)
    }
}
