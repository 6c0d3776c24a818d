import HTTPTypes
import SeededNumbers
import Testing

@testable import CurlewWebSockets

@Suite("The opening handshake")
struct HandshakeTests {
    private static let key = HandshakeKey("dGhlIHNhbXBsZSBub25jZQ==")!
    private static let accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

    private func client(
        _ subprotocols: [String] = [], _ compression: CurlewWebSocket.Compression? = nil
    ) throws -> ClientHandshake {
        try ClientHandshake(subprotocols: subprotocols, compression: compression, key: Self.key)
    }

    private func response(_ change: (inout HTTPResponse) -> Void = { _ in }) -> HTTPResponse {
        var response = HTTPResponse(
            status: .switchingProtocols,
            headerFields: [.upgrade: "websocket", .connection: "Upgrade", .secWebSocketAccept: Self.accept])
        change(&response)
        return response
    }

    private func request(_ change: (inout HTTPRequest) -> Void = { _ in }) -> HTTPRequest {
        var request = HTTPRequest(method: .get, scheme: "http", authority: "example.com", path: "/chat")
        request.headerFields = [
            .upgrade: "websocket", .connection: "Upgrade", .secWebSocketKey: Self.key.text, .secWebSocketVersion: "13",
        ]
        change(&request)
        return request
    }

    @Test("the key of RFC 6455 §1.3 has its accept value")
    func acceptValue() { #expect(Self.key.acceptValue == Self.accept) }

    @Test("a key is the Base64 of sixteen random bytes")
    func keys() {
        var numbers = SeededNumbers(seed: 1)
        let first = HandshakeKey(random: &numbers)
        let second = HandshakeKey(random: &numbers)
        #expect(first != second)
        #expect(HandshakeKey(first.text) == first)
        #expect(HandshakeKey() != HandshakeKey())
    }

    @Test(
        "a key is refused unless it is the Base64 of sixteen bytes",
        arguments: [
            "", "dGhlIHNhbXBsZSBub25jZQ", "dGhlIHNhbXBsZSBub25jZQ=", "dGhlIHNhbXBsZSBub25jZSE=", "dGhlIHNhbXBsZSBub25j",
            "!GhlIHNhbXBsZSBub25jZQ==", " dGhlIHNhbXBsZSBub25jZQ==",
        ])
    func invalidKeys(_ text: String) { #expect(HandshakeKey(text) == nil) }

    @Test("a request has the fields of RFC 6455 §4.1")
    func requestFields() throws {
        let fields = try client(["chat", "superchat"], CurlewWebSocket.Compression()).fields
        #expect(
            fields == [
                .upgrade: "websocket", .connection: "Upgrade", .secWebSocketVersion: "13",
                .secWebSocketKey: Self.key.text, .secWebSocketProtocol: "chat, superchat",
                .secWebSocketExtensions: "permessage-deflate; client_max_window_bits",
            ])
        #expect(try client().fields.count == 4)
    }

    @Test("an offered subprotocol must be a token and occur once")
    func ownSubprotocols() {
        for (names, fault) in [(["a b"], "a b"), ([""], ""), (["a", "b", "a"], "a"), (["é"], "é")] {
            #expect(throws: HandshakeFailure.invalidOwnSubprotocol(fault)) { try client(names) }
        }
    }

    @Test("a response is accepted without regard to case and with further options")
    func sloppyResponse() throws {
        let response = response {
            $0.headerFields[.upgrade] = "WebSocket"
            $0.headerFields[.connection] = "keep-alive,  UPGRADE"
        }
        #expect(try client().check(response) == HandshakeAgreement())
    }

    @Test("a response is refused for each fault")
    func faults() throws {
        let faults: [(HandshakeFailure, (inout HTTPResponse) -> Void)] = [
            (.unexpectedStatus(200), { $0.status = .ok }),
            (.unexpectedStatus(401), { $0.status = .unauthorized }),
            (.missingUpgrade, { $0.headerFields[.upgrade] = nil }),
            (.missingUpgrade, { $0.headerFields[.upgrade] = "h2c" }),
            (.missingUpgrade, { $0.headerFields[.upgrade] = "websockets" }),
            (.missingUpgrade, { $0.headerFields[.upgrade] = "websocket, h2c" }),
            (.missingUpgrade, { $0.headerFields[.upgrade] = "h2c, websocket" }),
            (.missingUpgrade, { $0.headerFields[.upgrade] = "web socket" }),
            // The Kelvin sign equals K in a case-insensitive comparison of Unicode.
            (.missingUpgrade, { $0.headerFields[.upgrade] = "websoc\u{212A}et" }),
            (.missingConnectionUpgrade, { $0.headerFields[.connection] = nil }),
            (.missingConnectionUpgrade, { $0.headerFields[.connection] = "close" }),
            (.missingAccept, { $0.headerFields[.secWebSocketAccept] = nil }),
            (.wrongAccept, { $0.headerFields[.secWebSocketAccept] = Self.accept.lowercased() }),
            (.wrongAccept, { $0.headerFields[.secWebSocketAccept] = "" }),
            (.repeatedAccept, { $0.headerFields.append(.init(name: .secWebSocketAccept, value: Self.accept)) }),
            (.unofferedSubprotocol("chat"), { $0.headerFields[.secWebSocketProtocol] = "chat" }),
            (.invalidSubprotocolField, { $0.headerFields[.secWebSocketProtocol] = "a, b" }),
            (
                .unofferedExtension("permessage-deflate"),
                { $0.headerFields[.secWebSocketExtensions] = "permessage-deflate" }
            ),
            (.invalidExtensionField, { $0.headerFields[.secWebSocketExtensions] = "a;" }),
        ]
        for (failure, change) in faults {
            #expect(throws: failure) { try client().check(response(change)) }
        }
    }

    @Test("a response may select only an offered subprotocol, compared by its bytes")
    func subprotocols() throws {
        let client = try client(["chat", "superchat"])
        #expect(try client.check(response()).subprotocol == nil)
        #expect(
            try client.check(response { $0.headerFields[.secWebSocketProtocol] = "superchat" }).subprotocol
                == "superchat")
        #expect(throws: HandshakeFailure.unofferedSubprotocol("Chat")) {
            try client.check(response { $0.headerFields[.secWebSocketProtocol] = "Chat" })
        }
        #expect(throws: HandshakeFailure.invalidSubprotocolField) {
            try client.check(
                response {
                    $0.headerFields[values: .secWebSocketProtocol] = ["chat", "superchat"]
                })
        }
    }

    @Test("an extension is accepted once and only with parameters that fit")
    func extensions() throws {
        let client = try client([], CurlewWebSocket.Compression(serverWindow: .bits10))
        let failures: [(String, HandshakeFailure)] = [
            ("permessage-deflate", .invalidExtensionParameters("permessage-deflate")),
            ("permessage-deflate; x=1", .invalidExtensionParameters("permessage-deflate; x=1")),
            ("permessage-deflate; server_max_window_bits=10, foo", .unofferedExtension("foo")),
            (
                "permessage-deflate; server_max_window_bits=10, permessage-deflate; server_max_window_bits=9",
                .repeatedExtension("permessage-deflate")
            ),
        ]
        for (text, failure) in failures {
            #expect(throws: failure) {
                try client.check(response { $0.headerFields[.secWebSocketExtensions] = text })
            }
        }
        let agreement = try client.check(
            response { $0.headerFields[.secWebSocketExtensions] = "permessage-deflate; server_max_window_bits=9" })
        #expect(agreement.compression?.serverWindow == .bits9)
        #expect(try client.check(response()).compression == nil)
    }

    @Test("the client accepts the server's response")
    func bothHalves() throws {
        let client = try ClientHandshake(subprotocols: ["a", "b", "c"], compression: CurlewWebSocket.Compression())
        var request = HTTPRequest(method: .get, scheme: "http", authority: "example.com", path: "/")
        request.headerFields = client.fields
        let server = ServerHandshake(
            subprotocols: ["x", "c", "b"], compression: CurlewWebSocket.Compression(serverWindow: .bits9))
        let (response, agreement) = try server.answer(to: request)
        #expect(agreement.subprotocol == "c")
        #expect(agreement.compression?.serverWindow == .bits9)
        #expect(try client.check(response) == agreement)
    }

    @Test("a request is refused for each fault with a status")
    func requestFaults() {
        let faults: [(HandshakeFailure, Int, (inout HTTPRequest) -> Void)] = [
            (.unexpectedMethod(.post), 405, { $0.method = .post }),
            (.missingUpgrade, 426, { $0.headerFields[.upgrade] = nil }),
            (.missingConnectionUpgrade, 400, { $0.headerFields[.connection] = "keep-alive" }),
            (.missingVersion, 400, { $0.headerFields[.secWebSocketVersion] = nil }),
            (.unsupportedVersion("8"), 426, { $0.headerFields[.secWebSocketVersion] = "8" }),
            (.missingKey, 400, { $0.headerFields[.secWebSocketKey] = nil }),
            (.invalidKey, 400, { $0.headerFields[.secWebSocketKey] = "short" }),
            (.invalidKey, 400, { $0.headerFields.append(.init(name: .secWebSocketKey, value: Self.key.text)) }),
            (.invalidSubprotocolList, 400, { $0.headerFields[.secWebSocketProtocol] = "a b" }),
            (.invalidSubprotocolList, 400, { $0.headerFields[.secWebSocketProtocol] = "a, a" }),
            (.invalidExtensionField, 400, { $0.headerFields[.secWebSocketExtensions] = "a=b" }),
        ]
        for (failure, status, change) in faults {
            #expect(throws: failure) { try ServerHandshake().answer(to: request(change)) }
            #expect(ServerHandshake.refusal(failure).status.code == status)
        }
    }

    @Test("each failure has a distinct description")
    func descriptions() {
        let failures: [HandshakeFailure] = [
            .invalidOwnSubprotocol("a"), .hashUnavailable, .unexpectedStatus(200), .missingUpgrade,
            .missingConnectionUpgrade, .missingAccept, .repeatedAccept, .wrongAccept, .unofferedSubprotocol("a"),
            .invalidSubprotocolField, .invalidExtensionField, .unofferedExtension("a"), .repeatedExtension("a"),
            .invalidExtensionParameters("a"), .unexpectedMethod(.post), .missingKey, .invalidKey, .missingVersion,
            .unsupportedVersion("8"), .invalidSubprotocolList,
        ]
        #expect(Set(failures.map(\.description)).count == failures.count)
        #expect("\(HandshakeFailure.unofferedSubprotocol("a\r\nb"))".contains(#""a\r\nb""#))
    }
}
