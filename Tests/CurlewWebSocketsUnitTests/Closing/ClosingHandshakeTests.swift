import Testing

@testable import CurlewWebSockets

@Suite("The closing handshake")
struct ClosingHandshakeTests {
    private static let normal = CurlewWebSocket.CloseStatus(.normalClosure, reason: "done")!
    private static let away = CurlewWebSocket.CloseStatus(.goingAway, reason: "restart")!
    private static let awayAnswer = CurlewWebSocket.CloseStatus(.goingAway)!
    private static let violation = WebSocketViolation.interruptedMessage

    /// Handles events and collects the actions of each.
    private func run(
        _ role: WebSocketRole, _ events: [ClosingHandshake.Event]
    ) -> (actions: [[ClosingHandshake.Action]], state: ClosingHandshake.State) {
        var handshake = ClosingHandshake(role: role)
        let actions = events.map { handshake.handle($0) }
        return (actions, handshake.state)
    }

    private func ending(
        _ cause: CurlewWebSocket.Ending.Cause, sent: CurlewWebSocket.CloseStatus? = nil,
        received: CurlewWebSocket.CloseStatus? = nil
    ) -> [ClosingHandshake.Action] {
        [.closeConnection, .finish(CurlewWebSocket.Ending(cause: cause, sent: sent, received: received))]
    }

    @Test("a client that closes waits for the answer and then for the end of the connection")
    func clientCloses() {
        let run = run(
            .client, [.closeRequested(Self.normal), .closeFlushed, .closeReceived(Self.normal), .connectionEnded])
        #expect(
            run.actions == [
                [.sendClose(Self.normal), .startTimer], [], [],
                ending(.closedLocally, sent: Self.normal, received: Self.normal),
            ])
    }

    @Test("after a failed write, a close frame of the peer is still received and determines the ending")
    func outputBreaks() {
        let byPeer = run(.client, [.outputBroke, .closeReceived(Self.away)])
        #expect(byPeer.actions == [[.startTimer], ending(.closedByPeer, received: Self.away)])
        let locally = run(.client, [.closeRequested(Self.normal), .outputBroke, .closeReceived(Self.normal)])
        #expect(
            locally.actions == [
                [.sendClose(Self.normal), .startTimer], [], ending(.closedLocally, received: Self.normal),
            ])
        for event in [ClosingHandshake.Event.connectionEnded, .timedOut] {
            #expect(run(.client, [.outputBroke, event]).actions == [[.startTimer], ending(.connectionLost)])
        }
        let violation = run(.client, [.outputBroke, .peerViolated(Self.violation)])
        #expect(violation.actions.last == ending(.violation(Self.violation.description)))
        let requested = run(.client, [.outputBroke, .closeRequested(Self.normal), .outputBroke, .closeFlushed])
        #expect(requested.state == .receiving(isClosing: true))
    }

    @Test("a failed write ends a closing WebSocket, and has no effect after both close frames")
    func outputBreaksLate() {
        let answering = run(.client, [.closeReceived(Self.away), .outputBroke])
        #expect(answering.actions.last == ending(.closedByPeer, received: Self.away))
        let failing = run(.client, [.peerViolated(Self.violation), .outputBroke])
        #expect(
            failing.actions.last
                == ending(
                    .violation(Self.violation.description), sent: CurlewWebSocket.CloseStatus(Self.violation)))
        let flushed = run(.client, [.closeRequested(Self.normal), .closeFlushed, .outputBroke])
        #expect(flushed.state == .closing(sent: Self.normal, isFlushed: true))
        let both = run(.client, [.closeReceived(Self.away), .closeFlushed, .outputBroke])
        #expect(both.actions.last?.isEmpty == true)
    }

    @Test("pings are answered until the peer's close frame")
    func pings() {
        var handshake = ClosingHandshake(role: .client)
        #expect(handshake.answersPings)
        _ = handshake.handle(.closeRequested(Self.normal))
        _ = handshake.handle(.closeFlushed)
        #expect(handshake.answersPings)
        #expect(!handshake.hasBothFrames)
        _ = handshake.handle(.closeReceived(Self.normal))
        #expect(!handshake.answersPings)
        #expect(handshake.hasBothFrames)
    }

    @Test("a server that closes ends the connection after the answer")
    func serverCloses() {
        let run = run(.server, [.closeRequested(Self.normal), .closeFlushed, .closeReceived(Self.normal)])
        #expect(
            run.actions == [
                [.sendClose(Self.normal), .startTimer], [],
                ending(.closedLocally, sent: Self.normal, received: Self.normal),
            ])
    }

    @Test("a client answers with the server's code and waits for the end of the connection")
    func serverClosesFirst() {
        let run = run(.client, [.closeReceived(Self.away), .closeFlushed, .connectionEnded])
        #expect(
            run.actions == [
                [.sendClose(Self.awayAnswer), .startTimer], [],
                ending(.closedByPeer, sent: Self.awayAnswer, received: Self.away),
            ])
    }

    @Test("a server answers with the client's code and ends the connection")
    func clientClosesFirst() {
        let run = run(.server, [.closeReceived(Self.away), .closeFlushed])
        #expect(
            run.actions == [
                [.sendClose(Self.awayAnswer), .startTimer],
                ending(.closedByPeer, sent: Self.awayAnswer, received: Self.away),
            ])
    }

    @Test("a close frame without a code is answered without a code")
    func withoutCode() {
        let run = run(.server, [.closeReceived(.withoutCode), .closeFlushed])
        #expect(run.actions[0] == [.sendClose(.withoutCode), .startTimer])
        guard case .ended(let ending) = run.state else {
            Issue.record("\(run.state)")
            return
        }
        #expect(ending.code == .noStatusReceived)
        #expect(ending.isClean)
    }

    @Test("both endpoints may close at the same time", arguments: [WebSocketRole.client, .server])
    func bothClose(_ role: WebSocketRole) {
        let run = run(
            role, [.closeRequested(Self.normal), .closeReceived(Self.away), .closeFlushed, .connectionEnded])
        let end = ending(.closedLocally, sent: Self.normal, received: Self.away)
        // The endpoint's own close frame is flushed before the connection is closed.
        #expect(
            run.actions == [[.sendClose(Self.normal), .startTimer], []] + (role == .client ? [[], end] : [end, []]))
    }

    @Test("a lost connection has the code 1006")
    func lost() {
        for (events, sent) in [
            ([.connectionEnded], nil), ([.closeRequested(Self.normal), .connectionEnded], Self.normal),
        ] as [([ClosingHandshake.Event], CurlewWebSocket.CloseStatus?)] {
            let run = run(.client, events)
            #expect(run.actions.last == ending(.connectionLost, sent: sent))
            guard case .ended(let ending) = run.state else {
                Issue.record("\(run.state)")
                return
            }
            #expect(ending.code == .abnormalClosure)
            #expect(!ending.isClean)
        }
    }

    @Test("a peer that does not answer in time is abandoned")
    func timeout() {
        let run = run(.client, [.closeRequested(Self.normal), .closeFlushed, .timedOut])
        #expect(run.actions.last == ending(.timedOut, sent: Self.normal))
    }

    @Test("an answer that cannot be flushed in time ends with both close frames")
    func unflushedAnswer() {
        let run = run(.client, [.closeReceived(Self.away), .timedOut])
        #expect(run.actions.last == ending(.closedByPeer, sent: Self.awayAnswer, received: Self.away))
    }

    @Test("a server that keeps its connection open is abandoned after the timeout, and the end counts as clean")
    func lingeringServer() {
        let run = run(
            .client, [.closeRequested(Self.normal), .closeFlushed, .closeReceived(Self.normal), .timedOut])
        #expect(run.actions.last == ending(.closedLocally, sent: Self.normal, received: Self.normal))
    }

    @Test("a violation is answered with its code, and only a server ends the connection at once")
    func violation() {
        let status = CurlewWebSocket.CloseStatus(Self.violation)
        let end = ending(.violation(Self.violation.description), sent: status)
        let client = run(.client, [.peerViolated(Self.violation), .closeFlushed, .connectionEnded])
        #expect(client.actions == [[.sendClose(status), .startTimer], [], end])
        let server = run(.server, [.peerViolated(Self.violation), .closeFlushed])
        #expect(server.actions == [[.sendClose(status), .startTimer], end])
    }

    @Test("a violation after the endpoint's own close frame ends the connection")
    func lateViolation() {
        let run = run(.client, [.closeRequested(Self.normal), .peerViolated(Self.violation)])
        #expect(run.actions.last == ending(.violation(Self.violation.description), sent: Self.normal))
    }

    @Test("frames are sent until the endpoint's close frame and received until the peer's")
    func permissions() {
        var handshake = ClosingHandshake(role: .client)
        #expect(handshake.canSend && handshake.canReceive)
        _ = handshake.handle(.closeRequested(Self.normal))
        #expect(!handshake.canSend && handshake.canReceive)
        _ = handshake.handle(.closeReceived(Self.normal))
        #expect(!handshake.canSend && !handshake.canReceive)
    }

    @Test("each sequence of events ends once, closes once, sends one close frame and starts one timer")
    func allSequences() {
        let events: [ClosingHandshake.Event] = [
            .closeRequested(Self.normal), .closeFlushed, .closeReceived(Self.away), .peerViolated(Self.violation),
            .connectionEnded, .timedOut,
        ]
        for role in [WebSocketRole.client, .server] {
            for number in 0..<(6 * 6 * 6 * 6 * 6) {
                var rest = number
                var sequence: [ClosingHandshake.Event] = []
                for _ in 0..<5 {
                    sequence.append(events[rest % 6])
                    rest /= 6
                }
                let actions = run(role, sequence + [.connectionEnded]).actions.flatMap(\.self)
                check(actions, sequence)
            }
        }
    }

    private func check(_ actions: [ClosingHandshake.Action], _ sequence: [ClosingHandshake.Event]) {
        var counts = (closes: 0, timers: 0, connections: 0, endings: 0)
        for action in actions {
            switch action {
            case .sendClose: counts.closes += 1
            case .startTimer: counts.timers += 1
            case .closeConnection: counts.connections += 1
            case .finish: counts.endings += 1
            }
        }
        let isSound =
            counts.closes <= 1 && counts.timers == counts.closes && counts.connections == 1 && counts.endings == 1
        if !isSound { Issue.record("\(sequence): \(actions)") }
        guard case .finish = actions.last else {
            Issue.record("\(sequence): \(actions)")
            return
        }
    }
}
