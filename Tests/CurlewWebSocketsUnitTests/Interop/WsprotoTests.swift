import Curlew
import Foundation
import HTTPTypes
import SeededNumbers
import Testing

@testable import CurlewWebSockets

/// Exchanges with wsproto in the other role.
///
/// The recorded exchanges contain the bytes that wsproto sent. The live exchanges need Python with wsproto:
/// `CURLEW_WEBSOCKET_PYTHON=venv/bin/python`. With `CURLEW_WEBSOCKET_RECORD=1` they write the recordings again.
@Suite("Exchanges with wsproto")
struct WsprotoTests {
    /// The bytes of wsproto after the handshake, and the items in them.
    struct Recording: Codable {
        /// The role of wsproto.
        let role: String
        let deflate: WireParameters?
        let items: [WireItem]
        let bytes: Data
    }

    private static let python = ProcessInfo.processInfo.environment["CURLEW_WEBSOCKET_PYTHON"]
    private static let records = ProcessInfo.processInfo.environment["CURLEW_WEBSOCKET_RECORD"] == "1"
    private static let recordings = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "wsproto-recordings.jsonl")

    @Test("recorded frames of wsproto are read in any pieces")
    func recorded() throws {
        let lines = try Data(contentsOf: Self.recordings).split(separator: 0x0A)
        #expect(lines.count >= 200)
        for line in lines {
            let recording = try JSONDecoder().decode(Recording.self, from: line)
            let role: WebSocketRole = recording.role == "client" ? .server : .client
            for pieces in Pieces.all(of: Array(recording.bytes)) {
                let transcript = Transcript(of: pieces, role: role, compression: recording.deflate?.agreement)
                #expect(transcript.violation == nil)
                #expect(transcript.entries.map(WireItem.init) == recording.items.map(\.whole))
            }
        }
    }

    @Test("wsproto and the state machines understand each other in both roles", .enabled(if: python != nil))
    func live() throws {
        let peer = try WsprotoPeer(python: try #require(Self.python))
        var numbers = SeededNumbers(seed: 44)
        var recordings = Data()
        for index in 0..<480 {
            // Half of the exchanges with each role, and a quarter without compression.
            let deflate = index % 8 < 2 ? nil : parameters(&numbers)
            // Recordings stay small. Live exchanges are larger than each window.
            let isRecorded = index < 240
            let sent = items(&numbers, upTo: isRecorded ? 300 : 40_000)
            let received = items(&numbers, upTo: isRecorded ? 300 : 40_000)
            let size = [1, 7, 100, 100_000][numbers.next(upTo: 4)]
            let recording =
                index.isMultiple(of: 2)
                ? try exchangeAsClient(peer, deflate, sent, received, size)
                : try exchangeAsServer(peer, deflate, sent, received, size)
            if isRecorded {
                let encoder = JSONEncoder()
                encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
                recordings += try encoder.encode(recording) + [0x0A]
            }
        }
        if Self.records { try recordings.write(to: Self.recordings) }
    }

    @Test("closing handshakes with wsproto are clean from either side", .enabled(if: python != nil))
    func closing() throws {
        let peer = try WsprotoPeer(python: try #require(Self.python))
        for code in [1000, 1001, 1011, 3000, 4999] as [UInt16] {
            let item = WireItem.close(code, Array("Grüße".utf8))
            for isOurs in [true, false] {
                let client = try ClientHandshake()
                let opening = try peer.run(.init(op: "accept", input: Data(PlainHead.request(client.fields))))
                _ = try client.check(PlainHead.parsedResponse(Array(opening.output)))
                let status = try #require(
                    CurlewWebSocket.CloseStatus(CurlewWebSocket.CloseCode(rawValue: code), reason: "Grüße"))
                var connection = EchoConnection(role: .client)
                if isOurs { connection.handle(.closeRequested(status)) }
                var answer = try peer.run(
                    .init(op: "exchange", input: Data(connection.output), size: 3, send: [item]))
                try connection.receive(Array(answer.output))
                if isOurs {
                    #expect(answer.events == [item])
                } else {
                    answer = try peer.run(.init(op: "exchange", input: Data(connection.output), size: 3, send: []))
                    #expect(answer.events == [.close(code, [])])
                }
                connection.handle(.connectionEnded)
                let ending = connection.ending
                #expect(ending?.isClean == true)
                #expect(ending?.code.rawValue == code)
                #expect(ending?.cause == (isOurs ? .closedLocally : .closedByPeer))
            }
        }
    }

    @Test("wsproto reads a client's frames of any length", .enabled(if: python != nil))
    func lengths() throws {
        let peer = try WsprotoPeer(python: try #require(Self.python))
        let client = try ClientHandshake()
        _ = try peer.run(.init(op: "accept", input: Data(PlainHead.request(client.fields))))
        var writer = MessageWriter(role: .client)
        for count in [0, 1, 125, 126, 127, 65535, 65536, 1 << 20] {
            let message = WireItem.message(.binary, [SampleData.random.bytes(count)])
            var bytes: [UInt8] = []
            try message.write(by: &writer, into: &bytes)
            let answer = try peer.run(.init(op: "exchange", input: Data(bytes), size: 60_000, send: [message]))
            #expect(answer.events == [message])
            let transcript = Transcript(of: [Array(answer.output)], role: .client)
            #expect(transcript.entries.map(WireItem.init) == [message])
        }
    }

    private func exchangeAsClient(
        _ peer: WsprotoPeer, _ deflate: WireParameters?, _ sent: [WireItem], _ received: [WireItem], _ size: Int
    ) throws -> Recording {
        let client = try ClientHandshake(subprotocols: ["chat", "superchat"], compression: deflate?.options)
        let opening = try peer.run(
            .init(
                op: "accept", input: Data(PlainHead.request(client.fields)),
                deflate: deflate.map { _ in WireParameters() }, subprotocol: "superchat"))
        #expect(opening.offered == ["chat", "superchat"])
        let agreement = try client.check(PlainHead.parsedResponse(Array(opening.output)))
        #expect(agreement.subprotocol == "superchat")
        let answer = try exchange(peer, .client, agreement, Data(), sent, received, size)
        #expect(answer.deflate == agreement.compression.map(WireParameters.init))
        return Recording(role: "server", deflate: answer.deflate, items: received, bytes: answer.output)
    }

    private func exchangeAsServer(
        _ peer: WsprotoPeer, _ deflate: WireParameters?, _ sent: [WireItem], _ received: [WireItem], _ size: Int
    ) throws -> Recording {
        let opening = try peer.run(.init(op: "request", deflate: deflate, subprotocols: ["a", "b"]))
        let server = ServerHandshake(subprotocols: ["b"], compression: CurlewWebSocket.Compression())
        let (response, agreement) = try server.answer(to: PlainHead.parsedRequest(Array(opening.output)))
        #expect((agreement.compression == nil) == (deflate == nil))
        let answer = try exchange(
            peer, .server, agreement, Data(PlainHead.response(response)), sent, received, size)
        #expect(answer.deflate == agreement.compression.map(WireParameters.init))
        #expect(answer.subprotocol == "b")
        return Recording(role: "client", deflate: answer.deflate, items: received, bytes: answer.output)
    }

    /// Sends items and reads the items of the peer.
    private func exchange(
        _ peer: WsprotoPeer, _ role: WebSocketRole, _ agreement: HandshakeAgreement, _ head: Data,
        _ sent: [WireItem], _ received: [WireItem], _ size: Int
    ) throws -> WsprotoPeer.Answer {
        var writer = MessageWriter(
            role: role, compression: agreement.compression, options: CurlewWebSocket.Compression(minimumSize: 20))
        var bytes = Array(head)
        for item in sent { try item.write(by: &writer, into: &bytes) }
        let answer = try peer.run(.init(op: "exchange", input: Data(bytes), size: size, send: received))
        #expect(answer.events == sent.map(\.whole))
        for pieces in [[Array(answer.output)], Pieces.random(Array(answer.output), seed: 1, upTo: 50)] {
            let transcript = Transcript(of: pieces, role: role, compression: agreement.compression)
            #expect(transcript.violation == nil)
            #expect(transcript.entries.map(WireItem.init) == received.map(\.whole))
        }
        return answer
    }

    /// Random parameters that wsproto supports, with windows of at least 2^9.
    private func parameters(_ numbers: inout SeededNumbers) -> WireParameters {
        var parameters = WireParameters()
        parameters.clientNoContextTakeover = numbers.next(upTo: 2) == 0
        parameters.serverNoContextTakeover = numbers.next(upTo: 2) == 0
        parameters.clientMaxWindowBits = 9 + numbers.next(upTo: 7)
        parameters.serverMaxWindowBits = 9 + numbers.next(upTo: 7)
        return parameters
    }

    /// Random items: complete messages, messages in fragments, and control frames.
    private func items(_ numbers: inout SeededNumbers, upTo limit: Int) -> [WireItem] {
        (0..<(1 + numbers.next(upTo: 5))).map { _ in
            switch numbers.next(upTo: 6) {
            case 0: return .ping(SampleData.random.bytes(numbers.next(upTo: 126)))
            case 1: return .pong(SampleData.random.bytes(numbers.next(upTo: 126)))
            default:
                let data = SampleData.allCases[numbers.next(upTo: 5)]
                let count = numbers.next(upTo: 5) == 0 ? 0 : numbers.next(upTo: limit)
                return .message(data.kind, fragments(of: data.bytes(count, seed: numbers.next()), data, &numbers))
            }
        }
    }

    /// Random fragments. A fragment of text ends with a complete scalar, because wsproto takes strings.
    private func fragments(of bytes: [UInt8], _ data: SampleData, _ numbers: inout SeededNumbers) -> [[UInt8]] {
        guard numbers.next(upTo: 2) == 0, !bytes.isEmpty else { return [bytes] }
        guard data.kind == .text else {
            return Pieces.random(bytes, seed: numbers.next(), upTo: max(1, bytes.count / 3))
        }
        let scalars = Array(String(decoding: bytes, as: UTF8.self).unicodeScalars)
        let size = max(1, scalars.count / (1 + numbers.next(upTo: 4)))
        return stride(from: 0, to: scalars.count, by: size).map { start in
            scalars[start..<min(start + size, scalars.count)].flatMap { Array(String($0).utf8) }
        }
    }
}
