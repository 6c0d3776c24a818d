import CurlewTesting
import HTTPTypes

/// The embedded server of the tour.
enum DemoServer {
    static func start() async throws -> MockServer {
        try await MockServer.start { request in
            switch request.path {
            case "/greeting":
                return json(#"{"name":"curlew","words":["hello","there"]}"#)
            case "/echo":
                return json(String(decoding: try await request.body.collect(), as: UTF8.self))
            case "/upload", "/form":
                var count = 0
                for try await chunk in request.body { count += chunk.count }
                return MockResponse(body: .string("\(count)"))
            case "/download":
                return MockResponse(body: .pattern(count: Demo.downloadSize))
            default:
                return .notFound
            }
        }
    }

    private static func json(_ text: String) -> MockResponse {
        MockResponse(fields: [.contentType: "application/json"], body: .string(text))
    }
}
