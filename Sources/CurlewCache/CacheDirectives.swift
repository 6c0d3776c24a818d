internal import HTTPTypes
internal import RawStructuredFieldValues

/// The directives of Cache-Control (RFC 9111 §5.2), or those of a targeted field (RFC 9213).
///
/// An unreadable directive gets its strictest meaning: an invalid number is 0, and so are two different numbers
/// (§4.2.1).
struct CacheDirectives: Sendable, Hashable {
    /// The largest number of seconds (§1.2.2).
    static let longest: Int64 = 1 << 31

    private(set) var maxAge: Int64?
    private(set) var sharedMaxAge: Int64?
    private(set) var minFresh: Int64?
    /// The most seconds of staleness that the request accepts; ``longest`` without a number.
    private(set) var maxStale: Int64?
    private(set) var staleWhileRevalidate: Int64?
    private(set) var staleIfError: Int64?
    private(set) var noStore = false
    private(set) var mustRevalidate = false
    private(set) var proxyRevalidate = false
    private(set) var mustUnderstand = false
    private(set) var onlyIfCached = false
    private(set) var isPublic = false
    private(set) var isImmutable = false
    private(set) var noCache = Scope.nothing
    private(set) var isPrivate = Scope.nothing

    /// The scope of `no-cache` and `private`.
    enum Scope: Sendable, Hashable {
        case nothing
        /// The fields with these names, in lower case.
        case fields([String])
        case response

        /// The names, if the scope is limited to some fields.
        var names: [String] { if case .fields(let names) = self { names } else { [] } }

        fileprivate func united(with other: Scope) -> Scope {
            switch (self, other) {
            case (.nothing, let scope), (let scope, .nothing): scope
            case (.fields(let names), .fields(let others)): .fields(names + others)
            default: .response
            }
        }
    }

    init() {}

    /// Parses all Cache-Control fields as one list.
    init(_ fields: HTTPFields) {
        for field in fields where field.name == .cacheControl { add(field) }
    }

    /// Adds the directives of a further field.
    mutating func add(_ field: HTTPField) {
        var reader = DirectiveReader(field.withUnsafeBytesOfValue { Array($0) })
        while let directive = reader.next() { add(directive.name, directive.argument) }
    }

    /// Parses a targeted field: a dictionary of structured fields (RFC 9213 §2.1).
    ///
    /// nil if the field is missing, empty or unreadable; it is then ignored. Values of the wrong type are ignored too.
    init?(targeted name: HTTPField.Name, in fields: HTTPFields) {
        let values = fields.filter { $0.name == name }.map { $0.withUnsafeBytesOfValue { Array($0) } }
        guard !values.isEmpty else { return nil }
        var parser = StructuredFieldValueParser(Array(values.joined(separator: [.comma])))
        guard let dictionary = try? parser.parseDictionaryFieldValue(), !dictionary.isEmpty else { return nil }
        for (key, value) in dictionary {
            guard case .item(let item) = value else { continue }
            switch item.rfc9651BareItem {
            case .bool(true): addFlag(key)
            case .integer(let number): addNumber(key, min(max(0, number), Self.longest))
            default: break
            }
        }
    }

    private mutating func add(_ name: String, _ argument: [UInt8]?) {
        switch name {
        case "max-stale": addNumber(name, argument.map(Self.number) ?? Self.longest)
        case "no-cache": noCache = noCache.united(with: Self.scope(argument))
        case "private": isPrivate = isPrivate.united(with: Self.scope(argument))
        // The strictest meaning is that no response is fresh for long enough.
        case "min-fresh": addNumber(name, argument.flatMap(Self.validNumber) ?? Self.longest)
        case "max-age", "s-maxage", "stale-while-revalidate", "stale-if-error":
            addNumber(name, argument.map(Self.number) ?? 0)
        default: addFlag(name)
        }
    }

    private mutating func addFlag(_ name: String) {
        switch name {
        case "no-store": noStore = true
        case "no-cache": noCache = .response
        case "private": isPrivate = .response
        case "must-revalidate": mustRevalidate = true
        case "proxy-revalidate": proxyRevalidate = true
        case "must-understand": mustUnderstand = true
        case "only-if-cached": onlyIfCached = true
        case "public": isPublic = true
        case "immutable": isImmutable = true
        default: break
        }
    }

    private mutating func addNumber(_ name: String, _ number: Int64) {
        func joined(_ present: Int64?) -> Int64 { present == nil || present == number ? number : 0 }
        switch name {
        case "max-age": maxAge = joined(maxAge)
        case "s-maxage": sharedMaxAge = joined(sharedMaxAge)
        // Of two numbers, the stricter one applies.
        case "min-fresh": minFresh = max(minFresh ?? 0, number)
        case "max-stale": maxStale = min(maxStale ?? .max, number)
        case "stale-while-revalidate": staleWhileRevalidate = joined(staleWhileRevalidate)
        case "stale-if-error": staleIfError = joined(staleIfError)
        default: break
        }
    }

    /// A number of seconds. Too large numbers become ``longest``, and other text becomes 0.
    static func number(_ bytes: [UInt8]) -> Int64 { validNumber(bytes) ?? 0 }

    private static func validNumber(_ bytes: [UInt8]) -> Int64? {
        guard !bytes.isEmpty, bytes.allSatisfy(\.isDigit) else { return nil }
        return bytes.reduce(Int64(0)) { min($0 * 10 + Int64($1 - UInt8(ascii: "0")), longest) }
    }

    private static func scope(_ argument: [UInt8]?) -> Scope {
        guard let argument else { return .response }
        let names = argument.split(separator: .comma).map(\.trimmingBlanks).filter { !$0.isEmpty }
        guard !names.isEmpty, names.allSatisfy({ $0.allSatisfy(\.isTokenByte) }) else { return .response }
        return .fields(names.map { String(decoding: $0, as: UTF8.self).lowercased() })
    }
}

/// A parser for `name`, `name=token` and `name="text"`, separated by commas.
private struct DirectiveReader {
    private var scanner: ByteScanner

    init(_ bytes: [UInt8]) { scanner = ByteScanner(bytes) }

    mutating func next() -> (name: String, argument: [UInt8]?)? {
        while !scanner.isAtEnd {
            scanner.skip { $0.isBlank || $0 == .comma }
            let name = scanner.take(while: \.isTokenByte)
            guard !name.isEmpty else {
                // Text that is not a directive is skipped up to the next comma.
                skipRest()
                continue
            }
            var argument: [UInt8]?
            if scanner.take(.equals) {
                argument = scanner.takeWholeQuotedString() ?? Array(scanner.take { $0 != .comma && !$0.isBlank })
            }
            scanner.skip(while: \.isBlank)
            // Further text makes the argument invalid.
            if let rest = scanner.next, rest != .comma {
                skipRest()
                argument = Array("?".utf8)
            }
            return (String(decoding: name, as: UTF8.self).lowercased(), argument)
        }
        return nil
    }

    private mutating func skipRest() {
        while let byte = scanner.next, byte != .comma {
            if scanner.takeWholeQuotedString() == nil { _ = scanner.take(byte) }
        }
    }
}
