internal import HTTPTypes

extension ResumeToken {
    /// The sign by which a server still has the very bytes that it had: a strong entity tag, or a date that is as good as one.
    ///
    /// A resumed download sends it in If-Range (RFC 9110 §13.1.5), and there weak validators may not stand: a weak entity tag
    /// is the same for representations that differ in their bytes. A Last-Modified date serves only where there is no entity
    /// tag at all, and only if it is at least one second before the response's own Date: else the file could have changed
    /// twice within that second (§8.8.2.2).
    public struct Validator: Sendable, Hashable, CustomStringConvertible {
        enum Kind: Sendable, Hashable {
            case entityTag, date
        }

        let kind: Kind
        /// The value as it stands in If-Range.
        let value: String

        /// The most bytes of an entity tag that is used.
        static let lengthLimit = 1024

        public var description: String { value }

        /// The validator of a response; nil if it has none that is strong.
        init?(_ fields: HTTPFields) {
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

        /// A strong entity tag; nil for a weak one, and for what is none (§8.8.3).
        init?(entityTag tag: String) {
            let bytes = tag.utf8
            guard (2...Self.lengthLimit).contains(bytes.count), bytes.first == .quote, bytes.last == .quote,
                bytes.dropFirst().dropLast().allSatisfy({ (0x21...0x7E).contains($0) && $0 != .quote })
            else { return nil }
            kind = .entityTag
            value = tag
        }

        /// A date that was found to be strong.
        init?(date: String) {
            guard HTTPDate(date) != nil else { return nil }
            kind = .date
            value = date
        }

        /// True if a response to a range may be of the same representation.
        ///
        /// An entity tag has to be there again, as the server must send it (§15.3.7); a date need not be, but if it is it must
        /// be the same. Where there was no entity tag there must be none.
        func fits(_ fields: HTTPFields) -> Bool {
            let tags = fields[values: .eTag]
            switch kind {
            case .entityTag: return !tags.isEmpty && tags.allSatisfy { Self.isSame($0, value) }
            case .date: return tags.isEmpty && fields[values: .lastModified].allSatisfy { Self.isSame($0, value) }
            }
        }

        /// Tags are compared byte by byte (§8.8.3.2). As strings they would be by a normal form that can take a second to make.
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
