import AsyncHTTPClient
import Curlew
import CurlewService
import Gateway
import Glibc
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix

/// `bench-gateway-server curlew|ahc UPSTREAM`: the same route on Hummingbird, through Curlew or async-http-client. The
/// program prints its port when it accepts connections, and runs until it is killed.
@main
struct Main {
    static func main() async throws {
        let words = CommandLine.arguments
        guard words.count == 3 else { fatalError("usage: bench-gateway-server curlew|ahc UPSTREAM") }
        let logger = Logger(label: "gateway") { _ in SwiftLogNoOpLogHandler() }
        if words[1] == "curlew" {
            let upstream = try HTTPSession(baseURL: words[2], chain: .bare)
            let rules = try HTTPSession.Forwarding(named: "bench")
            try await GatewayService(upstream: upstream, rules: rules, port: 0, logger: logger, onRunning: ready).run()
        } else {
            try await AsyncHTTPClientGateway(upstream: words[2], logger: logger).run()
        }
    }

    static func ready(_ port: Int) {
        print(port)
        fflush(nil)
    }
}

/// A typical gateway route with async-http-client: it copies fields and body, and adds the fields of a gateway.
struct AsyncHTTPClientGateway {
    let upstream: String
    let logger: Logger

    func run() async throws {
        let client = HTTPClient(eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton))
        let base = String(upstream.dropLast(upstream.hasSuffix("/") ? 1 : 0))
        let route = CallbackResponder { (request: Request, context: BasicRequestContext) in
            var forwarded = HTTPClientRequest(url: base + (request.head.path ?? "/"))
            forwarded.method = HTTPMethod(rawValue: request.head.method.rawValue)
            for field in request.headers where !Self.hopFields.contains(field.name.canonicalName) {
                forwarded.headers.add(name: field.name.rawName, value: field.value)
            }
            forwarded.headers.add(name: "Via", value: "1.1 bench")
            forwarded.headers.add(name: "X-Forwarded-Proto", value: "http")
            forwarded.headers.add(name: "X-Forwarded-Host", value: request.head.authority ?? "")
            forwarded.headers.add(name: "X-Forwarded-For", value: "127.0.0.1")
            forwarded.headers.add(
                name: "Forwarded", value: "for=127.0.0.1;host=\"\(request.head.authority ?? "")\";proto=http")
            if let length = request.headers[.contentLength].flatMap({ Int64($0) }), length > 0 {
                forwarded.body = .stream(request.body, length: .known(length))
            } else if request.headers.contains(.transferEncoding) {
                forwarded.body = .stream(request.body, length: .unknown)
            }
            let response = try await client.execute(forwarded, timeout: .seconds(60), logger: nil)
            var fields = HTTPFields()
            for (name, value) in response.headers {
                guard let name = HTTPField.Name(name), !Self.hopFields.contains(name.canonicalName) else { continue }
                fields.append(HTTPField(name: name, value: value))
            }
            fields.append(HTTPField(name: .via, value: "1.1 bench"))
            let status = HTTPResponse.Status(
                code: Int(response.status.code), reasonPhrase: response.status.reasonPhrase)
            // A short body is sent with its head, as in the other gateway.
            if let length = fields[.contentLength].flatMap({ Int($0) }), length <= 16 << 10 {
                let body = ResponseBody(byteBuffer: try await response.body.collect(upTo: 16 << 10))
                return Response(status: status, headers: fields, body: body)
            }
            return Response(
                status: status, headers: fields,
                body: ResponseBody { writer in
                    for try await buffer in response.body { try await writer.write(buffer) }
                    try await writer.finish(nil)
                })
        }
        let application = Application(
            responder: route, configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { channel in Main.ready(channel.localAddress?.port ?? 0) }, logger: logger)
        try await application.run()
        try await client.shutdown()
    }

    private static let hopFields: Set<String> = [
        "connection", "keep-alive", "proxy-connection", "proxy-authorization", "te", "transfer-encoding", "upgrade",
    ]
}
