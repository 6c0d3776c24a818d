import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Testing

@testable import CurlewCache
@testable import CurlewCore
@testable import CurlewLoad
@testable import CurlewTransfers

/// A clock of whole seconds that a test sets.
final class TurnableClock: Sendable {
    private let seconds: Guarded<Int64>

    init(_ start: Int64 = 1_800_000_000) { seconds = Guarded(start) }

    var now: Int64 { seconds.withLock { $0 } }

    func advance(_ count: Int64) { seconds.withLock { $0 += count } }

    /// A moment in the format of HTTP.
    func date(_ offset: Int64 = 0) -> String { httpDate(now + offset) }
}

/// A gate that a test opens once and permanently.
struct Gate: Sendable {
    private let clock: TestClock
    private let moment: TestClock.Instant

    init() {
        clock = TestClock()
        moment = clock.now.advanced(by: .seconds(1))
    }

    func wait() async throws { try await clock.sleep(until: moment) }

    func open() { clock.advance(by: .seconds(1)) }
}

/// A moment in the format of HTTP (RFC 9110 §5.6.7).
func httpDate(_ seconds: Int64) -> String {
    let days = (seconds / 86_400, seconds % 86_400)
    let names = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    // The days of the civil calendar are counted from 1 March of the year 0.
    let shifted = days.0 + 719_468
    let era = shifted / 146_097
    let dayOfEra = shifted % 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let part = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * part + 2) / 5 + 1
    let month = part < 10 ? part + 3 : part - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let time = "\(two(days.1 / 3600)):\(two(days.1 / 60 % 60)):\(two(days.1 % 60))"
    return "\(names[Int(days.0 % 7)]), \(two(day)) \(months[Int(month) - 1]) \(year) \(time) GMT"
}

/// A cache before a server that numbers its requests.
struct CacheScene: Sendable {
    typealias Answer = @Sendable (InboundRequest, Int) async throws -> MockResponse

    let clock: TurnableClock
    let server: MockServer
    let cache: HTTPCache
    let api: HTTPSession
    /// The number of requested answers.
    private let count = Guarded(0)

    init(
        _ mode: HTTPCache.Mode = .private, store: any HTTPCache.Store = HTTPCache.MemoryStore(),
        clock: TurnableClock = TurnableClock(), _ adjust: (inout HTTPCache) -> Void = { _ in },
        chain: StandardChain.Options? = nil, answer: @escaping Answer
    ) async throws {
        let server = try await MockServer.start { [count] request in
            // A client may stop sending once it has its answer, so the body is read first to complete the record.
            if request.method.rawValue == "QUERY" { for try await _ in request.body {} }
            let number = count.withLock { count -> Int in
                count += 1
                return count
            }
            return try await answer(request, number)
        }
        var cache = HTTPCache(store: store, mode: mode) { clock.now }
        adjust(&cache)
        var configuration = SessionConfiguration()
        configuration.timeouts = Timeouts(connect: .seconds(10), idle: .seconds(20), total: .seconds(50))
        configuration.userAgent = nil
        let loops = [try CurlewEventLoop(name: "curlew-test")]
        if var chain {
            chain.cache = cache
            api = try HTTPSession(
                baseURL: server.url(), configuration: configuration, eventLoops: loops, chain: chain)
        } else {
            api = try HTTPSession(
                baseURL: server.url(), configuration: configuration, eventLoops: loops, chain: .bare
            ) {
                cache
            }
        }
        self.clock = clock
        self.server = server
        self.cache = cache
    }

    /// Returns when this number of requests has arrived and been numbered: a request is recorded before it is answered.
    func waitForRequests(_ count: Int) async throws {
        try await server.waitForRequests(count)
        try await eventually("\(count) requests are being answered") { self.count.withLock { $0 } >= count }
    }

    /// The result that a caller sees.
    struct Seen: Sendable, Hashable, CustomStringConvertible {
        var code: Int
        var text: String
        var status: String?
        var fields: HTTPFields
        var trailers: HTTPFields

        var description: String { "\(code) \(text) \(status ?? "-")" }
    }

    func send(
        _ method: HTTPRequest.Method = .get, _ path: String = "/", _ fields: HTTPFields = [:],
        policy: HTTPCache.Policy? = nil, partition: String? = nil, body: CurlewRequest.Body = .none
    ) async throws -> Seen {
        var request = try CurlewRequest(method, server.url(path), fields: fields, body: body)
        request.options.cachePolicy = policy
        request.options.cachePartition = partition
        let response = try await api.send(request)
        let bytes = try await response.body.collect(upTo: .mebibytes(64))
        return Seen(
            code: response.status.code, text: String(decoding: bytes, as: UTF8.self),
            status: response.cacheStatus?.rawValue, fields: response.fields, trailers: response.body.trailers)
    }

    /// Sends a GET, and returns a summary: status, text, and the part of the cache.
    func get(
        _ path: String = "/", _ fields: HTTPFields = [:], policy: HTTPCache.Policy? = nil, partition: String? = nil
    ) async throws -> String {
        try await send(.get, path, fields, policy: policy, partition: partition).description
    }
}

extension MockResponse {
    /// The number of a request as text.
    static func numbered(_ number: Int, _ fields: HTTPFields = [:], _ code: Int = 200) -> MockResponse {
        MockResponse(status: .init(code: code), fields: fields, body: .string("\(number)"))
    }
}
