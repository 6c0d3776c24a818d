import Curlew
import CurlewTestingTraits
import TestHelpers
import Testing

@testable import CurlewWebSockets

@Suite("The buffer of received messages", .timeLimit(.minutes(1)))
struct MessageInboxTests {
    /// Another result than the expected one.
    private struct Unexpected: Error {}

    private func part(_ size: Int) -> CurlewWebSocket.Part {
        CurlewWebSocket.Part(kind: .binary, bytes: [UInt8](repeating: 1, count: size), isFirst: true, isLast: true)
    }

    /// The number under which a reader of an empty inbox waits.
    private func number(_ inbox: MessageInbox) throws -> Int {
        guard case .nothing(let number) = inbox.take() else { throw Unexpected() }
        return number
    }

    @Test("a waiting reader is resumed by a part and by the end", arguments: [true, false])
    func resumes(_ isEnd: Bool) async throws {
        let inbox = MessageInbox(limit: 1000)
        let number = try number(inbox)
        let reader = Task { try await inbox.wait(number) }
        if isEnd {
            inbox.finish(throwing: nil)
        } else {
            inbox.append(part(3))
            inbox.deliver()
        }
        try await reader.value
        switch inbox.take() {
        case .part(let found, let resumes): #expect(!isEnd && found == part(3) && !resumes)
        case .end: #expect(isEnd)
        default: Issue.record("the inbox is empty")
        }
    }

    @Test("the buffered messages precede the error that has ended them")
    func failure() throws {
        let inbox = MessageInbox(limit: 1000)
        inbox.append(part(1))
        inbox.finish(throwing: CurlewError(.connectionLost, "reset"))
        guard case .part = inbox.take() else { throw Unexpected() }
        for _ in 0..<2 {
            guard case .failure(let error) = inbox.take() else { throw Unexpected() }
            #expect(error.code == .connectionLost)
        }
    }

    @Test("a cancelled reader does not wait, and the next reader does")
    func cancellation() async throws {
        let inbox = MessageInbox(limit: 1000)
        for _ in 0..<100 {
            let number = try number(inbox)
            let reader = Task { try await inbox.wait(number) }
            reader.cancel()
            let error = await curlewError { try await reader.value }
            #expect(error?.code == .cancelled)
        }
        let number = try number(inbox)
        let reader = Task { try await inbox.wait(number) }
        inbox.append(part(1))
        inbox.deliver()
        try await reader.value
    }

    @Test("a second reader gets an error, and its cancellation does not end the wait of the first")
    func secondReader() async throws {
        let inbox = MessageInbox(limit: 1000)
        let first = try number(inbox)
        let reader = Task { try await inbox.wait(first) }
        try await eventually("the reader waits") { inbox.hasReader }
        let second = try number(inbox)
        let refused = await curlewError { try await inbox.wait(second) }
        #expect(refused?.code == .responseAlreadyTaken)
        let third = try number(inbox)
        let other = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await inbox.wait(third)
        }
        let cancelled = await curlewError { try await other.value }
        #expect(cancelled?.code == .cancelled)
        #expect(inbox.hasReader)
        inbox.append(part(1))
        inbox.deliver()
        try await reader.value
    }

    @Test("room is reported once when half of the messages are taken, even if the inbox was not full in the meantime")
    func room() throws {
        let inbox = MessageInbox(limit: 1000)
        for _ in 0..<4 { inbox.append(part(200)) }
        #expect(inbox.pausesReading())
        var reports: [Bool] = []
        for _ in 0..<4 {
            guard case .part(_, let resumes) = inbox.take() else { throw Unexpected() }
            reports.append(resumes)
            #expect(!inbox.pausesReading())
        }
        #expect(reports == [false, false, true, false])
        #expect(inbox.size == 0)
    }
}
