import Testing

@testable import CurlewCore

@Suite("The outgoing body of an attempt")
struct OutgoingBodyTests {
    private func take(_ count: Int, of body: inout OutgoingBody) -> [UInt8]? {
        var space = [UInt8](repeating: 0, count: count)
        guard case .bytes(let found) = space.withUnsafeMutableBytes({ body.provide(into: $0) }) else { return nil }
        return Array(space.prefix(found))
    }

    @Test("bytes are sent in pieces, and the body reports when all are sent")
    func pieces() {
        var body = OutgoingBody(length: 5)
        #expect(!body.hasSource && !body.hasMore)
        body.begin(from: .bytes([1, 2, 3, 4, 5]))
        #expect(take(2, of: &body) == [1, 2])
        #expect(!body.isSent && body.hasMore && body.sentBytes == 2)
        #expect(take(9, of: &body) == [3, 4, 5])
        #expect(body.isSent && !body.hasMore)
        guard take(9, of: &body) == nil, body.sentBytes == 5 else {
            Issue.record("no end")
            return
        }
    }

    @Test("a body of bytes can be sent again from the start, and a stream needs a new source")
    func rewinding() {
        var body = OutgoingBody(length: 2)
        body.begin(from: .bytes([1, 2]))
        _ = take(9, of: &body)
        body.rewind()
        #expect(!body.isSent && body.hasSource && body.sentBytes == 0)
        #expect(take(9, of: &body) == [1, 2])
        var stream = OutgoingBody(length: nil)
        stream.begin(from: .channel(UploadChannel(capacity: 9) {}))
        stream.rewind()
        #expect(!stream.hasSource)
    }

    @Test("a body that ends before its announced length is an error, and one without a length ends there")
    func ends() async {
        for (length, isEnd) in [(Int64(3), false), (nil, true)] {
            let channel = UploadChannel(capacity: 9) {}
            _ = await channel.write([1, 2])
            channel.finish(.success(()))
            var body = OutgoingBody(length: length)
            body.begin(from: .channel(channel))
            #expect(take(9, of: &body) == [1, 2])
            var space: [UInt8] = [0]
            switch space.withUnsafeMutableBytes({ body.provide(into: $0) }) {
            case .end: #expect(isEnd)
            case .failed(let error): #expect(!isEnd && error.code == .bodyLengthMismatch)
            default: Issue.record("neither end nor failure")
            }
            #expect(body.isSent == isEnd)
        }
    }
}
