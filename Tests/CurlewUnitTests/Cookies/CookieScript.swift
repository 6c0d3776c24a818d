import HTTPTypes
import Testing

@testable import CurlewCore

/// A clock that a test sets, in seconds since 1970.
final class SetTime: Sendable {
    private let value: Guarded<Int64>

    init(_ seconds: Int64 = 1_700_000_000) { value = Guarded(seconds) }

    var seconds: Int64 { value.withLock { $0 } }

    func advance(by seconds: Int64) { value.withLock { $0 += seconds } }
}

extension CookieJar {
    /// The Cookie field of a request to a URL; nil if there is none.
    func field(for url: String) throws -> String? {
        var field = CookieField(HTTPFields(), limit: limits.fieldSize)
        field.append(cookies(for: try CurlewURI(url)))
        var fields = HTTPFields()
        field.set(in: &fields)
        return fields[fields: .cookie].first?.value
    }
}

/// The sent cookies after a server has set some.
struct CookieScript: Sendable, CustomTestStringConvertible {
    let fields: [String]
    let expected: String?
    var from = "http://home.example.org:8888/cookie-parser"
    var to = "http://home.example.org:8888/cookie-parser-result"

    init(_ fields: [String], _ expected: String?, from: String? = nil, to: String? = nil) {
        self.fields = fields
        self.expected = expected
        self.from = from ?? self.from
        self.to = to ?? from ?? self.to
    }

    init(_ field: String, _ expected: String?, from: String? = nil, to: String? = nil) {
        self.init([field], expected, from: from, to: to)
    }

    var testDescription: String { fields.joined(separator: " | ").debugDescription }

    func sent(clock: SetTime = SetTime()) throws -> String? {
        let jar = CookieJar { clock.seconds }
        for field in fields { jar.store(field, from: try CurlewURI(from)) }
        return try jar.field(for: to)
    }
}
