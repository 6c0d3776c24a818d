internal import FuzzingKit
internal import HTTPTypes

@testable internal import CurlewCache
@testable internal import CurlewCore
@testable internal import CurlewSupport

/// A fuzz target for the fields that a cache reads. Ages and lifetimes must stay within their bounds, and no response
/// with no-store may be stored. No stale response may be served against a prohibition, and no response to one user's
/// credentials may be stored for all.
///
/// The input is the lines of a response's fields, an empty line, and those of a request's fields; bytes after a NUL
/// make the choices.
@main
struct FuzzCacheFields: FuzzTarget {
    private static let now: Int64 = 1_800_000_000

    static func check(_ input: [UInt8]) {
        let text = input.prefix { $0 != 0 }
        var choices = Choices(Array(input.dropFirst(text.count)))
        let parts = text.split(separator: .lineFeed, omittingEmptySubsequences: false)
        let border = parts.firstIndex { $0.isEmpty } ?? parts.endIndex
        let answered = fields(parts[..<border])
        let asked = fields(parts[border...])
        let mode = choices.one(of: [HTTPCache.Mode.private, .singleUser, .shared])
        let code = choices.one(of: [200, 203, 206, 301, 302, 404, 500, 503, 401])
        guard let uri = try? CurlewURI("http://example.com/a?b=c") else { return require(false, "the URI is none") }
        var plain = CurlewRequest(.get, uri, fields: asked)
        plain.options.cachePolicy = choices.one(of: [nil, .standard, .noCache, .reload])
        let request = CacheRequest(plain, at: now)
        let judge = CacheJudge(mode: mode, heuristicLimit: 86_400, servesStaleOnFailure: choices.flag())
        let response = CurlewResponse(.init(code: code), fields: answered, uri: uri)
        guard
            let entry = judge.entry(
                for: response, to: request, sent: request.credentials, at: now + Int64(choices.number(below: 100)))
        else { return }
        checkStored(entry, request, mode)
        let later = now + Int64(truncatingIfNeeded: choices.word() >> 20)
        let freshness = judge.freshness(of: entry, at: later)
        require(0...CacheDirectives.longest ~= freshness.age, "an age is out of bounds")
        require(0...CacheDirectives.longest ~= freshness.lifetime, "a lifetime is out of bounds")
        checkDecision(judge, request, entry, freshness, at: later)
        requireEqual(
            try? HTTPCache.Entry(encoded: entry.updating(bodySize: 0).partless.encoded).head, entry.head,
            "another entry")
    }

    private static func checkStored(_ entry: HTTPCache.Entry, _ request: CacheRequest, _ mode: HTTPCache.Mode) {
        let directives = entry.effective(in: mode).directives
        require(!directives.noStore || directives.mustUnderstand, "what says no-store is stored")
        require(mode == .singleUser || request.credentials.isEmpty || mode == .shared, "a user's response is for all")
        if mode == .shared, request.credentials.contains(.authorization) {
            require(directives.allowsAuthorization, "a user's response is for all")
        }
        for name in [HTTPField.Name.setCookie, .connection, .transferEncoding, .proxyAuthenticate] {
            require(!entry.head.headerFields.contains(name), "\(name) is stored")
        }
        require(entry.selectors.allSatisfy { $0.name != "*" }, "an asterisk selects")
        require(
            CacheVariant.matches(entry.selectors, request.request), "the request does not select its own response")
    }

    private static func checkDecision(
        _ judge: CacheJudge, _ request: CacheRequest, _ entry: HTTPCache.Entry, _ freshness: Freshness, at later: Int64
    ) {
        let directives = entry.effective(in: judge.mode).directives
        switch judge.decide(request, entry, at: later) {
        case .serve(_, let status, _):
            require((status == .hit) == freshness.isFresh, "a stale response is called fresh")
            require(directives.noCache != .response, "no-cache is served")
            require(request.directives.noCache == .nothing, "no-cache is served")
            require(freshness.isFresh || !directives.mustRevalidate, "must-revalidate is served stale")
            require(freshness.isFresh || request.directives.maxStale != nil, "a stale response is served unasked")
            if let answer = CacheAnswer(request, entry, age: freshness.age), let stored = answer.stored {
                require(0 <= stored.lowerBound && stored.upperBound <= entry.bodySize, "bytes that are not there")
            }
        case .serveAndValidate:
            require(directives.staleWhileRevalidate != nil && !directives.mustRevalidate, "a stale response is served")
        case .validate(let entry): require(entry.hasValidator, "nothing to validate with")
        case .complete(let entry): require(entry.range?.lowerBound == 0, "an end is no beginning")
        case .forward, .unavailable: break
        }
    }

    private static func fields(_ lines: ArraySlice<ArraySlice<UInt8>>) -> HTTPFields {
        var fields = HTTPFields()
        for line in lines.prefix(64) {
            guard let colon = line.firstIndex(of: .colon),
                let name = HTTPField.Name(String(decoding: line[..<colon], as: UTF8.self))
            else { continue }
            fields.append(HTTPField(name: name, lenientValue: line[(colon + 1)...].filter(\.isReceivedValueByte)))
        }
        return fields
    }
}

extension HTTPCache.Entry {
    /// The same entry as a complete response: the bytes of a partial response are counted separately.
    fileprivate var partless: HTTPCache.Entry {
        HTTPCache.Entry(
            id: id, key: key, uri: uri, head: head, selectors: selectors, requestTime: requestTime,
            responseTime: responseTime, bodySize: bodySize)
    }
}
