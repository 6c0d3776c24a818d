internal import CLibcurl
internal import HTTPTypes

/// Where libcurl answers challenges by itself (Digest and Negotiate towards a proxy, Negotiate and NTLM towards an origin), the
/// head with the challenge passes through the callbacks like any other, and only afterwards libcurl says whether it sends
/// the request again. Such a head is held: it is the response once a byte of its body or the end of the exchange has come,
/// and forgotten once the next request is announced.
extension Transfer {
    func isAnsweredByEngine(_ status: Int) -> Bool {
        switch status {
        case 401: request.engineCredential != nil
        case 407: request.options.values.proxy?.awaitsChallenge == true
        default: false
        }
    }

    func publishHeldHead() {
        guard let held = heldHead else { return }
        heldHead = nil
        // What fails in it is noted, and found where the caller looks for failures.
        _ = acceptHead(held, isLate: true)
    }

    /// libcurl has answered the challenge and is about to send the request again.
    func answerIsAnnounced() {
        let code: ErrorCode = heldHead?.status.code == 407 ? .proxyFailed : .invalidResponse
        heldHead = nil
        challengeCount += 1
        readyCount = 0
        parser = HeadParser(limits: request.limits, names: multi.names, memory: multi.heads)
        noteRepetition()
        if challengeCount > 8 { failure = CurlewError(code, "the challenges have no end") }
    }
}
