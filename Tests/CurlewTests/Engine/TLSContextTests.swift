import COpenSSL
import Testing

@testable import CurlewCore

@Suite("The TLS contexts of a multi handle", .timeLimit(.minutes(1)))
struct TLSContextTests {
    private func onLoop(_ body: @escaping @Sendable (MultiHandle) throws -> Void) async throws {
        let loop = try CurlewEventLoop(name: "curlew-test")
        let multi = try MultiHandle(core: loop.core, limits: ConnectionLimits())
        try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
            loop.core.execute {
                done.resume(with: Result { try body(multi) })
                multi.close()
            }
        }
    }

    @Test("a proxy's TLS connection writes no secrets to the key log file of the environment")
    func keyLog() async throws {
        try await onLoop { multi in
            let context = try #require(SSL_CTX_new(TLS_client_method()))
            defer { SSL_CTX_free(context) }
            // libcurl sets the callback for a proxy if SSLKEYLOGFILE is set.
            SSL_CTX_set_keylog_callback(context) { _, _ in }
            try #require(!TLSContext.isServers(context))
            #expect(try EasyHandle(multi: multi).beginHandshake(context))
            #expect(SSL_CTX_get_keylog_callback(context) == nil)
        }
    }
}
