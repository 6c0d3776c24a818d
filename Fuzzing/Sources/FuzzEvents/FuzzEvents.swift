internal import FuzzingKit

@testable internal import CurlewCore

/// A fuzz target for Server-Sent Events. The events must not depend on the pieces of the stream, and must equal those
/// of a second reader that follows the standard literally.
@main
struct FuzzEvents: FuzzTarget {
    static func check(_ input: [UInt8]) {
        var choices = Choices(input)
        let seed = choices.byte()
        let limits = choices.one(of: [
            ServerSentEvent.Limits(), ServerSentEvent.Limits(line: 12, event: 16),
            ServerSentEvent.Limits(line: 40, event: 9),
        ])
        let stream = choices.rest
        let whole = Outcome(of: [stream], limits: limits)
        for pieces in piecings(of: stream, seed: seed) {
            requireEqual(whole, Outcome(of: pieces, limits: limits), "the events depend on the pieces")
        }
        if limits == ServerSentEvent.Limits() {
            requireEqual(whole, PlainReader.read(stream), "the events are not those of the plain reader")
        }
    }
}

/// The result of a stream.
struct Outcome: Equatable {
    var events: [ServerSentEvent] = []
    var lastEventID = ""
    var reconnectionTime: Duration?
    var error: ErrorCode?

    init() {}

    init(of pieces: [[UInt8]], limits: ServerSentEvent.Limits) {
        var parser = ServerSentEventParser(limits: limits)
        do {
            for piece in pieces { events += try parser.consume(piece) }
            try parser.check()
        } catch let error as CurlewError {
            self.error = error.code
        } catch {
            require(false, "an error of another kind: \(error)")
        }
        lastEventID = parser.lastEventID
        reconnectionTime = parser.reconnectionTime
    }
}
