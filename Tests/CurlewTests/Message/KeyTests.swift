import Curlew
import CurlewTesting
import HTTPTypes
import Testing

// The code uses only the public interface, like a user's link with its own option.

extension RequestOptions {
    private enum TenantKey: Key { static let defaultValue: String? = nil }
    private enum LevelKey: Key { static let defaultValue = 3 }

    fileprivate var tenant: String? {
        get { self[TenantKey.self] }
        set { self[TenantKey.self] = newValue }
    }

    fileprivate var level: Int {
        get { self[LevelKey.self] }
        set { self[LevelKey.self] = newValue }
    }
}

extension CurlewResponse {
    private enum TenantKey: Key { static let defaultValue = "nobody" }

    fileprivate var tenant: String {
        get { self[TenantKey.self] }
        set { self[TenantKey.self] = newValue }
    }
}

private enum TenantOfError: CurlewError.Key { typealias Value = String }

private struct Tenancy: CurlewMiddleware {
    func intercept(_ request: Request, next: Next<Request, Response>) async throws -> Response {
        guard let tenant = request.options.tenant else { return try await next(request) }
        do {
            var response = try await next(request)
            response.tenant = tenant
            return response
        } catch let error as CurlewError {
            throw error.adding(tenant, for: TenantOfError.self)
        }
    }
}

@Suite("Values of custom keys", .timeLimit(.minutes(1)))
struct KeyTests {
    @Test("a key that was never set has its default, and so has a key set to nil")
    func defaults() {
        var options = RequestOptions()
        #expect(options.tenant == nil && options.level == 3)
        options.tenant = "a"
        options.level = 0
        #expect(options.tenant == "a" && options.level == 0)
        options.tenant = nil
        #expect(options.tenant == nil && options.level == 0)
    }

    @Test("a copy of options has separate values, beside the options of Curlew's links")
    func copies() {
        var options = RequestOptions()
        options.tag = "t"
        options.tenant = "a"
        var copy = options
        copy.tenant = "b"
        copy.maximumAttempts = 2
        copy.redirects = .manual
        #expect(options.tenant == "a" && options.maximumAttempts == nil && options.redirects == nil)
        #expect(copy.tenant == "b" && copy.maximumAttempts == 2 && copy.redirects != nil && copy.tag == "t")
    }

    @Test("a link passes its option to the response, and to the error")
    func link() async throws {
        let stub = StubTransport { _ in .response(.ok) }
        let session = try HTTPSession(transport: stub, chain: .bare) { Tenancy() }
        var options = RequestOptions()
        options.tenant = "a"
        #expect(try await session.get("http://a.test/", options: options).tenant == "a")
        #expect(try await session.get("http://a.test/").tenant == "nobody")
        stub.enqueue(.failure(.connectionLost))
        let error = await #expect(throws: CurlewError.self) {
            _ = try await session.get("http://a.test/", options: options)
        }
        #expect(error?[TenantOfError.self] == "a")
        #expect(error?.code == .connectionLost && error?.uri?.host == "a.test")
        #expect(error?.serverTrust == nil && error?.resumeToken == nil)
    }
}
