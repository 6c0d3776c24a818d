#if Service
import Curlew
import CurlewService
import CurlewTesting
import CurlewTestingTraits
import InMemoryTracing
import Tracing

/// A client with traces, and its server.
struct TracingScene {
    let tracer = InMemoryTracer()
    let server: MockServer
    let tracing: RequestTracing
    let api: HTTPSession

    init(
        chain: StandardChain.Options? = .quick(), adjust: (inout RequestTracing) -> Void = { _ in },
        answer: @escaping @Sendable (InboundRequest) async throws -> MockResponse
    ) async throws {
        server = try await MockServer.start { try await answer($0) }
        var tracing = RequestTracing(tracer: tracer)
        adjust(&tracing)
        self.tracing = tracing
        api = try HTTPSession(configuration: testConfiguration(), chain: chain) { [tracing] in tracing }
    }

    /// The spans after the end of all exchanges, inner ones first.
    func spans() async -> [FinishedInMemorySpan] {
        await api.shutdown()
        await tracing.flush()
        return tracer.finishedSpans
    }
}

extension FinishedInMemorySpan {
    /// The value of an attribute as text; nil if the span has no such attribute.
    func text(_ name: String) -> String? {
        guard let value = attributes.get(name) else { return nil }
        switch value {
        case .string(let text): return text
        case .int64(let number): return "\(number)"
        case .int32(let number): return "\(number)"
        case .bool(let flag): return "\(flag)"
        default: return "\(value)"
        }
    }
}
#endif
