import Curlew
import Foundation

@testable import CurlewWebSockets

/// A message in fragments or a control frame, in the format of `wsproto_peer.py`.
enum WireItem: Hashable, Codable {
    case message(CurlewWebSocket.Message.Kind, [[UInt8]])
    case ping([UInt8])
    case pong([UInt8])
    case close(UInt16, [UInt8])
    case error(String)

    init(from decoder: any Decoder) throws {
        var list = try decoder.unkeyedContainer()
        let kind = try list.decode(String.self)
        switch kind {
        case "text", "binary":
            let fragments = try list.decode([Data].self)
            self = .message(kind == "text" ? .text : .binary, fragments.map { Array($0) })
        case "ping": self = .ping(Array(try list.decode(Data.self)))
        case "pong": self = .pong(Array(try list.decode(Data.self)))
        case "close": self = .close(try list.decode(UInt16.self), Array(try list.decode(Data.self)))
        default: self = .error(try list.decode(String.self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var list = encoder.unkeyedContainer()
        switch self {
        case .message(let kind, let fragments):
            try list.encode(kind == .text ? "text" : "binary")
            try list.encode(fragments.map { Data($0) })
        case .ping(let payload):
            try list.encode("ping")
            try list.encode(Data(payload))
        case .pong(let payload):
            try list.encode("pong")
            try list.encode(Data(payload))
        case .close(let code, let reason):
            try list.encode("close")
            try list.encode(code)
            try list.encode(Data(reason))
        case .error(let text):
            try list.encode("error")
            try list.encode(text)
        }
    }

    init(_ entry: Transcript.Entry) {
        switch entry {
        case .message(let message): self = .message(message.kind, [message.bytes])
        case .ping(let payload): self = .ping(payload)
        case .pong(let payload): self = .pong(payload)
        case .close(let status): self = .close(status.code.rawValue, Array(status.reason.utf8))
        }
    }

    /// The item with its fragments joined.
    var whole: WireItem {
        guard case .message(let kind, let fragments) = self else { return self }
        return .message(kind, [fragments.flatMap(\.self)])
    }

    func write(by writer: inout MessageWriter, into output: inout [UInt8]) throws {
        switch self {
        case .message(let kind, let fragments) where fragments.count == 1:
            try writer.write(CurlewWebSocket.Message(kind, bytes: fragments[0]), into: &output)
        case .message(let kind, let fragments):
            writer.begin(kind)
            for fragment in fragments { try writer.write(chunk: fragment.span.bytes, into: &output) }
            try writer.finish(into: &output)
        case .ping(let payload): writer.write(.ping(payload), into: &output)
        case .pong(let payload): writer.write(.pong(payload), into: &output)
        case .close(let code, let reason):
            let reason = String(decoding: reason, as: UTF8.self)
            writer.write(
                .close(CurlewWebSocket.CloseStatus(CurlewWebSocket.CloseCode(rawValue: code), reason: reason)!),
                into: &output)
        case .error: break
        }
    }
}

/// The parameters of permessage-deflate, with their names.
struct WireParameters: Hashable, Codable {
    var clientNoContextTakeover = false
    var serverNoContextTakeover = false
    var clientMaxWindowBits = 15
    var serverMaxWindowBits = 15

    enum CodingKeys: String, CodingKey {
        case clientNoContextTakeover = "client_no_context_takeover"
        case serverNoContextTakeover = "server_no_context_takeover"
        case clientMaxWindowBits = "client_max_window_bits"
        case serverMaxWindowBits = "server_max_window_bits"
    }

    init() {}

    init(_ agreement: DeflateAgreement) {
        clientNoContextTakeover = !agreement.clientKeepsContext
        serverNoContextTakeover = !agreement.serverKeepsContext
        clientMaxWindowBits = agreement.clientWindow.rawValue
        serverMaxWindowBits = agreement.serverWindow.rawValue
    }

    var agreement: DeflateAgreement {
        var agreement = DeflateAgreement()
        agreement.clientKeepsContext = !clientNoContextTakeover
        agreement.serverKeepsContext = !serverNoContextTakeover
        agreement.clientWindow = CurlewWebSocket.Compression.Window(rawValue: clientMaxWindowBits) ?? .bits15
        agreement.serverWindow = CurlewWebSocket.Compression.Window(rawValue: serverMaxWindowBits) ?? .bits15
        return agreement
    }

    var options: CurlewWebSocket.Compression {
        let agreement = agreement
        return CurlewWebSocket.Compression(
            minimumSize: 0, clientKeepsContext: agreement.clientKeepsContext,
            serverKeepsContext: agreement.serverKeepsContext, clientWindow: agreement.clientWindow,
            serverWindow: agreement.serverWindow)
    }
}
