/// The state of an attempt whose answer has begun, or whose request is sent.
extension Attempt {
    /// True if a connection that was to be closed, as the answer came before the body, may be kept after all: both
    /// directions are in order again.
    var isInOrderAgain: Bool {
        outgoing.isSent && incoming.head != nil && request.engineCredential == nil && !incoming.framing.isAmbiguous
            && !request.closesConnection
    }

    /// True if the answer may have ended before the request, so that the end of the request ends the stream.
    var mayEndByRequest: Bool { outgoing.isSent && incoming.head != nil && incoming.version == .http2 }

    /// True if nothing is left to be sent, and the final head has not begun to come.
    var awaitsHead: Bool { outgoing.isSent && stage == .exchanging && incoming.provisionalChallenge == nil }

    // MARK: HTTP/2 answers before the end of the request

    /// The time without a byte either way after which the request's body is looked at, once the response is there. If nothing of
    /// it leaves for as long again, it counts as unwanted.
    static let earlyAnswerPatience: Int64 = 500_000_000

    /// True if an HTTP/2 response came, or may have come, before the request was sent.
    var isAnsweredEarly: Bool {
        request.hasBody && incoming.version == .http2 && incoming.head != nil && incoming.provisionalChallenge == nil
    }

    /// True if nothing more of the response is to be expected, though the request was not sent. A server may read on all the same
    /// unless it reports a failure, so a body that is still being made is waited for.
    var isOverEarly: Bool {
        guard isAnsweredEarly, pauses.isDisjoint(with: [.reader, .suspended, .sendingRate, .receivingRate]) else {
            return false
        }
        if incoming.status >= 300 {
            return incoming.isBodyWhole(method: request.method) || incoming.framing.contentLength == nil
        }
        return !pauses.contains(.body) && incoming.isBodyWhole(method: request.method)
    }
}
