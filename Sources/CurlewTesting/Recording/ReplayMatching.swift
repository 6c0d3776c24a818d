#if TestKit
internal import Curlew
public import HTTPTypes

extension ReplayTransport {
    /// The parts of a request that are compared with a recorded one.
    ///
    /// The items of queries and forms and the members of JSON objects may be in any order. Multipart bodies may have
    /// different boundaries. `***` in the recording matches any text. Of a body that was not recorded to its end, only
    /// the beginning is compared.
    public struct Matching: Sendable, Hashable {
        /// The parts of a request.
        public struct Parts: OptionSet, Sendable, Hashable {
            /// The bits, one for each part.
            public let rawValue: Int

            /// Makes a set of bits.
            public init(rawValue: Int) {
                self.rawValue = rawValue
            }

            /// The method.
            public static let method = Parts(rawValue: 1)
            /// Scheme, host and port.
            public static let origin = Parts(rawValue: 2)
            /// The path.
            public static let path = Parts(rawValue: 4)
            /// The query.
            public static let query = Parts(rawValue: 8)
            /// The body.
            public static let body = Parts(rawValue: 16)
        }

        /// The compared parts.
        public var parts: Parts
        /// The compared fields, with all their lines. A recorded request without one of these fields only matches
        /// requests without it.
        public var fields: Set<HTTPField.Name>

        /// Makes a comparison of parts and fields.
        public init(_ parts: Parts, fields: Set<HTTPField.Name> = []) {
            self.parts = parts
            self.fields = fields
        }

        /// The comparison of method, URL and body.
        public static let standard = Matching([.method, .origin, .path, .query, .body])
        /// The comparison of method and URL.
        public static let methodAndURL = Matching([.method, .origin, .path, .query])
    }
}

extension ReplayTransport.Matching {
    /// The differences between a request and a recorded one, in words; empty if it matches.
    func differences(between recorded: Recording.Request, and actual: Recording.Request) -> [String] {
        var differences: [String] = []
        if self.parts.contains(.method), recorded.method != actual.method {
            differences.append("the method is \(actual.method), not \(recorded.method)")
        }
        let (expected, found) = (URLParts(recorded.url), URLParts(actual.url))
        if self.parts.contains(.origin), !MaskedText.matches(expected.origin, found.origin) {
            differences.append("the origin is \(found.origin), not \(expected.origin)")
        }
        if self.parts.contains(.path), !MaskedText.matches(expected.path, found.path) {
            differences.append("the path is \(found.path), not \(expected.path)")
        }
        if self.parts.contains(.query) {
            differences += MaskedText.differences(of: "query", in: expected.query, and: found.query)
        }
        for name in self.fields.sorted(by: { $0.canonicalName < $1.canonicalName }) {
            let (expected, found) = (recorded.fields[values: name], actual.fields[values: name])
            let isEqual = expected.count == found.count && zip(expected, found).allSatisfy(MaskedText.matches)
            if !isEqual { differences.append("the field \(name) is \(Self.list(found)), not \(Self.list(expected))") }
        }
        if self.parts.contains(.body), let difference = BodyComparison(recorded, actual).difference {
            differences.append(difference)
        }
        return differences
    }

    private static func list(_ values: [String]) -> String {
        values.isEmpty ? "missing" : values.joined(separator: " | ")
    }
}

/// The parts of a URL.
private struct URLParts {
    var origin = ""
    var path: String
    var query: String?

    init(_ url: String) {
        guard let uri = try? CurlewURI(url) else {
            // A masked part, such as the host, makes the URL an invalid URI.
            let rest = url.firstRange(of: "://").map { url[$0.upperBound...] } ?? url[...]
            let authority = rest.prefix { !"/?".contains($0) }
            self.origin = String(url[..<authority.endIndex])
            self.path = String(url[authority.endIndex...].prefix { $0 != "?" })
            self.query = url.firstIndex(of: "?").map { String(url[url.index(after: $0)...]) }
            return
        }
        self.origin = uri.origin
        self.path = uri.path
        self.query = uri.query
    }
}

/// The comparison with recorded text, in which ``Recording/mask`` matches any text.
enum MaskedText {
    static func matches(_ recorded: String, _ actual: String) -> Bool {
        if recorded.hasSameBytes(as: actual) { return true }
        let pieces = recorded.split(separator: Recording.mask, omittingEmptySubsequences: false)
        guard pieces.count > 1, let first = pieces.first, let last = pieces.last, actual.hasPrefix(first) else {
            return false
        }
        var rest = actual.dropFirst(first.count)
        for piece in pieces.dropFirst().dropLast() where !piece.isEmpty {
            guard let found = rest.firstRange(of: piece) else { return false }
            rest = rest[found.upperBound...]
        }
        return rest.hasSuffix(last)
    }

    /// The differences between two lists of `name=value`, which may be in any order.
    static func differences(of what: String, in recorded: String?, and actual: String?) -> [String] {
        var missing: [Substring] = []
        var found = self.items(actual)
        for item in self.items(recorded) {
            let index = found.firstIndex(of: item) ?? found.firstIndex { self.matches(String(item), String($0)) }
            if let index { found.remove(at: index) } else { missing.append(item) }
        }
        return missing.map { "the \(what) does not have \($0)" } + found.map { "the \(what) has \($0)" }
    }

    private static func items(_ text: String?) -> [Substring] { (text ?? "").split(separator: "&") }
}

/// The comparison of two requests' bodies.
private struct BodyComparison {
    let recorded: Recording.Request
    let expected: [UInt8]
    let found: [UInt8]

    init(_ recorded: Recording.Request, _ actual: Recording.Request) {
        self.recorded = recorded
        self.expected = recorded.body.bytes
        var bytes = actual.body.bytes
        if let old = recorded.fields.boundary, let new = actual.fields.boundary, old != new {
            bytes = bytes.replacing(Array(new.utf8), with: Array(old.utf8))
        }
        self.found = recorded.body.isComplete ? bytes : Array(bytes.prefix(self.expected.count))
    }

    /// The first difference, in words.
    var difference: String? {
        if self.expected == self.found { return nil }
        if let expected = try? JSONValue(parsing: self.expected), let found = try? JSONValue(parsing: self.found) {
            return Self.difference(expected, found, at: "").map { "the body differs at \($0)" }
        }
        guard let expected = String(validating: self.expected, as: UTF8.self),
            let found = String(validating: self.found, as: UTF8.self)
        else { return self.bytesDifference }
        if self.recorded.fields.isForm {
            let differences = MaskedText.differences(of: "form", in: expected, and: found)
            return differences.isEmpty ? nil : differences.joined(separator: ", ")
        }
        return MaskedText.matches(expected, found) ? nil : self.bytesDifference
    }

    private var bytesDifference: String {
        let offset = zip(self.expected, self.found).prefix { $0 == $1 }.count
        return "the body differs from byte \(offset) on: it is \(Self.excerpt(self.found, offset)), "
            + "not \(Self.excerpt(self.expected, offset))"
    }

    /// An excerpt of a body around an offset.
    private static func excerpt(_ bytes: [UInt8], _ offset: Int) -> String {
        guard offset < bytes.count else { return "at its end" }
        let start = max(0, offset - 20)
        let part = bytes[start..<min(bytes.count, offset + 40)]
        return
            "\(start > 0 ? "…" : "")\"\(String(decoding: part, as: UTF8.self))\"\(part.endIndex < bytes.count ? "…" : "")"
    }

    /// The first difference between two JSON values: `birds[1].name: it is 2, not 1`.
    private static func difference(_ recorded: JSONValue, _ actual: JSONValue, at path: String) -> String? {
        let place = path.isEmpty ? "the top" : path
        switch (recorded, actual) {
        case (.string(Recording.mask), _): return nil
        case (.object(let expected), .object(let found)):
            for (key, value) in expected {
                let path = path.isEmpty ? key : "\(path).\(key)"
                guard let other = found[key] else { return "\(path): it is missing" }
                if let difference = self.difference(value, other, at: path) { return difference }
            }
            return found.keys.first { expected[$0] == nil }.map { "\(place): there is also \($0)" }
        case (.array(let expected), .array(let found)):
            for (index, (value, other)) in zip(expected, found).enumerated() {
                if let difference = self.difference(value, other, at: "\(path)[\(index)]") { return difference }
            }
            return expected.count == found.count
                ? nil : "\(place): there are \(found.count) elements, not \(expected.count)"
        case (.string(let expected), .string(let found)) where MaskedText.matches(expected, found): return nil
        default:
            return recorded == actual ? nil : "\(place): it is \(self.short(actual)), not \(self.short(recorded))"
        }
    }

    private static func short(_ value: JSONValue) -> String {
        let text = value.description
        return text.count > 60 ? "\(text.prefix(60))…" : text
    }
}

extension HTTPFields {
    /// The boundary of a multipart body.
    fileprivate var boundary: String? {
        guard let type = ContentType(contentTypeOf: self), type.type == "multipart" else { return nil }
        return type["boundary"].flatMap { $0.isEmpty ? nil : $0 }
    }
}
#endif
