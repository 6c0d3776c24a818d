import COpenSSL
import Glibc
import Testing

@testable import Curlew

@Suite("The connections of a multi handle", .timeLimit(.minutes(1)))
struct ConnectionTableTests {
    /// Two connections from one local port, towards two peers.
    private struct Twins {
        let listeners: [(descriptor: Int32, port: Int)]
        let descriptors: [Int32]

        init() throws {
            listeners = try [LoopbackListener.open(), LoopbackListener.open()]
            let first = try LoopbackListener.connect(to: listeners[0].port, from: 0)
            let port = try LoopbackListener.localPort(of: first)
            descriptors = [first, try LoopbackListener.connect(to: listeners[1].port, from: port)]
        }

        func close() {
            for descriptor in descriptors + listeners.map(\.descriptor) { Glibc.close(descriptor) }
        }
    }

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

    @Test("a connection whose local port another one has, too, is among those that a request may be on")
    func twins() async throws {
        try await onLoop { multi in
            let twins = try Twins()
            defer { twins.close() }
            let port = Int32(try LoopbackListener.localPort(of: twins.descriptors[0]))
            let easy = try EasyHandle(multi: multi)
            multi.opened(twins.descriptors[0])
            for known in multi.candidates(localPort: port, for: easy) { known.isUsed = true }
            multi.opened(twins.descriptors[1])
            let found = multi.candidates(localPort: port, for: easy)
            #expect(Set(found.map(\.descriptor)) == Set(twins.descriptors))
            easy.lastConnection = multi.connection(twins.descriptors[1])
            #expect(multi.candidates(localPort: port, for: easy).map(\.descriptor) == [twins.descriptors[1]])
            for descriptor in twins.descriptors { multi.closing(descriptor) }
            #expect(multi.candidates(localPort: port, for: easy).isEmpty)
        }
    }

    @Test("a proxy's TLS connection writes no secrets to the file of the environment")
    func keyLog() async throws {
        try await onLoop { multi in
            let context = try #require(SSL_CTX_new(TLS_client_method()))
            defer { SSL_CTX_free(context) }
            // As libcurl sets it up for a proxy when SSLKEYLOGFILE is set.
            SSL_CTX_set_keylog_callback(context) { _, _ in }
            try #require(!TLSContext.isServers(context))
            #expect(try EasyHandle(multi: multi).beginHandshake(context))
            #expect(SSL_CTX_get_keylog_callback(context) == nil)
        }
    }
}
