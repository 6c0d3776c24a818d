import Curlew
import Testing

@testable import CurlewWebSockets

/// Autobahn's cases send a thousand messages of each size. Ten messages are enough here, because the behaviour does not
/// change after the window is full.
@Suite("Cases of the Autobahn test suite, 12.* and 13.*")
struct AutobahnCompressionTests {
    /// The sizes of the messages and of their fragments; 0 is a message without fragments.
    private static let sizes: [(message: Int, fragment: Int)] = [
        (16, 0), (64, 0), (256, 0), (1024, 0), (4096, 0), (8192, 0), (16384, 0), (32768, 0), (65536, 0), (131072, 0),
        (8192, 256), (16384, 256), (32768, 256), (65536, 256), (131072, 256), (131072, 1024), (131072, 4096),
        (131072, 32768),
    ]

    /// The client's options in the cases 13.1 to 13.7. Both endpoints agree on the parameters in a handshake.
    private static let options: [CurlewWebSocket.Compression] = [
        CurlewWebSocket.Compression(),
        CurlewWebSocket.Compression(serverKeepsContext: false),
        CurlewWebSocket.Compression(serverWindow: .bits9),
        CurlewWebSocket.Compression(clientWindow: .bits9),
        CurlewWebSocket.Compression(serverKeepsContext: false, serverWindow: .bits9),
        CurlewWebSocket.Compression(clientKeepsContext: false, serverKeepsContext: false, clientWindow: .bits9),
        CurlewWebSocket.Compression(
            clientKeepsContext: false, serverKeepsContext: false, clientWindow: .bits9, serverWindow: .bits9),
    ]

    @Test("compressed messages are echoed unchanged, 12.1 to 12.5", arguments: SampleData.allCases)
    func data(_ data: SampleData) throws { try roundTrip(data, CurlewWebSocket.Compression()) }

    @Test("compressed messages are echoed unchanged with each set of parameters, 13.1 to 13.7", arguments: options)
    func parameters(_ options: CurlewWebSocket.Compression) throws { try roundTrip(.json, options) }

    private func roundTrip(_ data: SampleData, _ options: CurlewWebSocket.Compression) throws {
        let agreement = try #require(
            DeflateAgreement.answer(
                to: [DeflateAgreement.offer(options).element], options: CurlewWebSocket.Compression())?.agreement)
        for size in Self.sizes {
            var writer = MessageWriter(
                role: .client, compression: agreement, options: CurlewWebSocket.Compression(minimumSize: 0))
            var server = EchoConnection(role: .server, compression: agreement)
            var sent: [CurlewWebSocket.Message] = []
            for index in 0..<10 {
                let payload = data.bytes(size.message, seed: UInt64(index))
                var bytes: [UInt8] = []
                if size.fragment == 0 {
                    try writer.write(CurlewWebSocket.Message(data.kind, bytes: payload), into: &bytes)
                } else {
                    writer.begin(data.kind)
                    for chunk in Pieces.chunks(of: payload, size: size.fragment) {
                        try writer.write(chunk: chunk.span.bytes, into: &bytes)
                    }
                    try writer.finish(into: &bytes)
                }
                sent.append(CurlewWebSocket.Message(data.kind, bytes: payload))
                try server.receive(bytes)
            }
            let transcript = Transcript(
                of: Pieces.chunks(of: server.output, size: 64 << 10), role: .client, compression: agreement)
            #expect(transcript.violation == nil)
            #expect(transcript.messages == sent)
        }
    }
}
