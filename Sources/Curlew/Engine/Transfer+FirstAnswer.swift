internal import CLibcurl

extension Engine {
    /// libcurl 8.12 to 8.15 take it that a connection speaks HTTP/2 only when its first answer has begun, and let other
    /// requests wait for that: as long as the answer takes, and for ever if none comes, as when the stream was reset. See
    /// <https://github.com/curl/curl/issues/18177>.
    static let joinsAfterFirstAnswer = versionNumber >= 0x080C00 && versionNumber < 0x081000
}

extension Transfer {
    /// For so long requests wait to join a connection whose first answer is not there yet. Then they take another one.
    static let firstAnswerPatience: Int64 = 500_000_000

    /// The request is about to go over a new HTTP/2 connection, which no other can join yet. Without an answer it is not
    /// kept.
    func awaitFirstAnswer() {
        guard Engine.joinsAfterFirstAnswer else { return }
        endFirstAnswer()
        try? easy?.forbidReuse(true)
        firstAnswerDeadline = multi.core.now.advanced(by: Self.firstAnswerPatience)
    }

    /// The answer begins, so that others can join.
    func firstAnswerCame() {
        endFirstAnswer()
        if request.engineCredential == nil { try? easy?.forbidReuse(false) }
    }

    /// There is nothing more to wait for: the answer is there, or the attempt has ended.
    func endFirstAnswer() {
        firstAnswerDeadline = nil
        guard isFirstAnswerSlow else { return }
        isFirstAnswerSlow = false
        multi.slowOrigins.remove(request.uri.authority)
    }

    /// The answer takes long. Who waits for it goes over another connection, and whoever comes later does, too.
    func firstAnswerIsSlow() {
        firstAnswerDeadline = nil
        isFirstAnswerSlow = true
        multi.slowOrigins.insert(request.uri.authority)
        multi.reconsiderWaiting(for: request.uri.authority)
    }

    /// Whether libcurl has not begun anything for the attempt, as it waits for a connection.
    fileprivate var waitsForConnection: Bool {
        stage == .connecting && easy?.lastConnection == nil && request.version != .http11
    }
}

extension MultiHandle {
    /// Makes the transfers that wait for a connection to `authority` look for one again.
    fileprivate func reconsiderWaiting(for authority: String) {
        for transfer in active where transfer.waitsForConnection && transfer.request.uri.authority == authority {
            if let error = reconsider(transfer) { transfer.fail(error) }
        }
    }
}

/// Authorities, each counted as often as it was inserted.
struct CountedAuthorities {
    private var counts: [String: Int] = [:]

    func contains(_ authority: @autoclosure () -> String) -> Bool { !counts.isEmpty && counts[authority()] != nil }

    mutating func insert(_ authority: String) { counts[authority, default: 0] += 1 }

    mutating func remove(_ authority: String) {
        guard let count = counts[authority] else { return }
        counts[authority] = count > 1 ? count - 1 : nil
    }
}
