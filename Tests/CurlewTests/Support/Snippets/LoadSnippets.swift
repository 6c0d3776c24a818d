import Curlew

/// The code of the article "Load and failure": it compiles.
private enum LoadSnippets {
    struct Order: Codable {}

    static func overview() throws -> HTTPSession {
        let api = try HTTPSession(baseURL: "https://api.example.com/") {
            StandardChain()
            CircuitBreaker()
            RequestRateLimiter()
            ConcurrencyLimiter()
        }
        return api
    }

    static func places() async throws -> [Order] {
        let session = try HTTPSession(baseURL: "https://api.example.com/") {
            StandardChain()
            ConcurrencyLimiter(.fixed(32), queue: LoadQueue(capacity: 200, timeout: .seconds(2)))
            ConcurrencyLimiter(.fixed(256), per: .all, queue: .none)
        }
        let options = RequestOptions(totalTimeout: .seconds(3)).setting(\.priority, to: .high)
        let orders = try await session.get("orders", as: [Order].self, options: options)
        return orders
    }

    static func rate() -> RequestRateLimiter {
        let limiter = RequestRateLimiter(.perSecond(50, burst: 10))
        return limiter
    }

    static func circuit() -> CircuitBreaker {
        var breaker = CircuitBreaker(CircuitBreaker.Policy(failureRate: 0.3, slowAfter: .seconds(2)))
        breaker.judge = { result in
            // A search without results answers 500 here.
            (try? result.get())?.uri.path == "/search" ? .ignored : nil
        }
        return breaker
    }
}
