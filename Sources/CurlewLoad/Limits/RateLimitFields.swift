internal import HTTPTypes
internal import RawStructuredFieldValues

/// The number of further requests that a server accepts, as a response reports it.
///
/// Three forms are read; the first that is present counts:
/// - RateLimit and RateLimit-Policy as lists of policies (draft-ietf-httpapi-ratelimit-headers, version 08 or later).
/// - RateLimit as one dictionary (version 07 of the draft).
/// - RateLimit-Remaining and RateLimit-Reset, with or without the prefix `X-`.
///
/// A value that is not a number, negative, or beyond 64 bits makes its form invalid.
package struct ServerQuota: Sendable, Equatable {
    /// The number of remaining requests.
    package var remaining: Int64
    /// The time until the quota is reset; nil if it is not given.
    package var reset: Duration?

    /// The upper limit of that time: a day.
    static let longestReset: Int64 = 86_400

    package init(remaining: Int64, reset: Duration?) {
        self.remaining = remaining
        self.reset = reset
    }

    /// The tightest quota; nil without a readable one.
    init?(_ fields: HTTPFields, now: @autoclosure () -> HTTPDate = .now) {
        // Most responses have none of these fields, and separate look-ups by name cost more.
        guard fields.contains(where: { Self.mayConcern($0.name.canonicalName.utf8) }) else { return nil }
        if fields.contains(.rateLimit) {
            guard let quota = Self.ofPolicies(fields) ?? Self.ofDictionary(fields) else { return nil }
            self = quota
        } else if fields.contains(.rateLimitRemaining) {
            guard let quota = Self.ofFields(fields, .rateLimitRemaining, .rateLimitReset, now()) else { return nil }
            self = quota
        } else if fields.contains(.xRateLimitRemaining) {
            guard let quota = Self.ofFields(fields, .xRateLimitRemaining, .xRateLimitReset, now()) else { return nil }
            self = quota
        } else {
            return nil
        }
    }

    private static func mayConcern(_ name: String.UTF8View) -> Bool {
        switch name.first {
        case UInt8(ascii: "r"): name.starts(with: "ratelimit".utf8)
        case UInt8(ascii: "x"): name.starts(with: "x-ratelimit".utf8)
        default: false
        }
    }

    private init?(read remaining: Int64?, reset: Int64?) {
        guard let remaining, remaining >= 0 else { return nil }
        self.remaining = remaining
        guard let reset else { return }
        guard reset >= 0 else { return nil }
        self.reset = .seconds(min(reset, Self.longestReset))
    }

    /// Reads policies: `"default";r=50;t=30`, and `"default";q=100;w=60`.
    private static func ofPolicies(_ fields: HTTPFields) -> ServerQuota? {
        guard let limits = items(of: .rateLimit, fields), !limits.isEmpty else { return nil }
        var windows: [String: Int64] = [:]
        for policy in items(of: .rateLimitPolicy, fields) ?? [] { windows[policy.name] = policy.numbers["w"] }
        var tightest: ServerQuota?
        for limit in limits {
            let reset = limit.numbers["t"] ?? windows[limit.name]
            guard let quota = ServerQuota(read: limit.numbers["r"], reset: reset) else { return nil }
            if tightest.map({ quota.isTighter(than: $0) }) ?? true { tightest = quota }
        }
        return tightest
    }

    private func isTighter(than other: ServerQuota) -> Bool {
        if remaining == 0, other.remaining == 0 { return reset ?? .zero > other.reset ?? .zero }
        return remaining < other.remaining
    }

    private static func items(
        of name: HTTPField.Name, _ fields: HTTPFields
    ) -> [(name: String, numbers: [String: Int64])]? {
        guard fields.contains(name) else { return nil }
        var parser = StructuredFieldValueParser(bytes(of: name, fields))
        guard let list = try? parser.parseListFieldValue() else { return nil }
        var items: [(String, [String: Int64])] = []
        for element in list {
            guard case .item(let item) = element else { return nil }
            let policy: String
            switch item.rfc9651BareItem {
            case .string(let text): policy = text
            case .token(let text): policy = text
            default: return nil
            }
            var numbers: [String: Int64] = [:]
            for (key, value) in item.rfc9651Parameters {
                if case .integer(let number) = value { numbers[key] = number }
            }
            items.append((policy, numbers))
        }
        return items
    }

    /// Reads a dictionary: `limit=100, remaining=50, reset=30`.
    private static func ofDictionary(_ fields: HTTPFields) -> ServerQuota? {
        var parser = StructuredFieldValueParser(bytes(of: .rateLimit, fields))
        guard let dictionary = try? parser.parseDictionaryFieldValue() else { return nil }
        func number(_ key: String) -> Int64? {
            guard case .item(let item)? = dictionary[key], case .integer(let number) = item.rfc9651BareItem else {
                return nil
            }
            return number
        }
        return ServerQuota(read: number("remaining"), reset: number("reset"))
    }

    private static func bytes(of name: HTTPField.Name, _ fields: HTTPFields) -> [UInt8] {
        let values = fields.filter { $0.name == name }.map { $0.withUnsafeBytesOfValue { Array($0) } }
        return Array(values.joined(separator: [.comma]))
    }

    /// Reads two fields with a number each. A reset of a billion or more is a time in seconds since 1970, as some
    /// servers send it. A fraction is rounded up.
    private static func ofFields(
        _ fields: HTTPFields, _ remaining: HTTPField.Name, _ reset: HTTPField.Name, _ now: HTTPDate
    ) -> ServerQuota? {
        guard let left = number(fields[remaining]) else { return nil }
        guard let text = fields[reset] else { return ServerQuota(read: left, reset: nil) }
        guard let time = SecondsText.roundedUp(Array(text.utf8)[...]) else { return nil }
        let seconds = time >= 1_000_000_000 ? max(0, time - now.secondsSince1970) : time
        return ServerQuota(read: left, reset: seconds)
    }

    private static func number(_ text: String?) -> Int64? {
        guard let text, !text.isEmpty, text.utf8.allSatisfy(\.isDigit) else { return nil }
        return Int64(text)
    }
}

extension HTTPField.Name {
    fileprivate static let rateLimit = HTTPField.Name("RateLimit")!
    fileprivate static let rateLimitPolicy = HTTPField.Name("RateLimit-Policy")!
    fileprivate static let rateLimitRemaining = HTTPField.Name("RateLimit-Remaining")!
    fileprivate static let rateLimitReset = HTTPField.Name("RateLimit-Reset")!
    fileprivate static let xRateLimitRemaining = HTTPField.Name("X-RateLimit-Remaining")!
    fileprivate static let xRateLimitReset = HTTPField.Name("X-RateLimit-Reset")!
}
