extension CurlewResponse {
    /// The most bytes of an unwanted body that are read, so that its connection can serve the next request.
    static let discardLimit: ByteSize = .kibibytes(64)
    /// The longest time that such a body may take.
    static let discardPatience = Duration.seconds(1)

    /// Reads the rest of a body that nobody wants, within 64 KiB and one second. Beyond these the body is
    /// dropped, and with it a connection of HTTP/1; over HTTP/2 that costs no more than the stream, and nothing is waited
    /// for.
    public func discard() async {
        await body.discard(upTo: Self.discardLimit, within: version.major < 2 ? Self.discardPatience : .zero)
        // Not left to the last reference: who discards a body may hold its response for longer.
        if !body.isKnownToHaveEnded { exchange?.cancel() }
    }
}

extension CurlewResponse.Body {
    fileprivate func discard(upTo limit: ByteSize, within patience: Duration) async {
        if case .bytes = storage { return }
        if let length, length > limit.bytes { return }
        var left = limit.bytes
        if case .source(let source) = storage, source.skip(&left) { return }
        guard patience > .zero else { return }
        let count = left
        await withTaskGroup { group in
            group.addTask { await read(upTo: count) }
            group.addTask { try? await ContinuousClock().sleep(for: patience) }
            await group.next()
            // Cancels the reading, and with it the transfer, if it was the clock that came first.
            group.cancelAll()
        }
    }

    fileprivate var isKnownToHaveEnded: Bool {
        switch storage {
        case .bytes: true
        case .source(let source): source.hasEnded
        case .stream: false
        }
    }

    /// Errors are the body's, and nobody wants it.
    private func read(upTo limit: Int) async {
        var left = limit
        var iterator = makeAsyncIterator()
        while left >= 0, let chunk = try? await iterator.next() { left -= chunk.count }
    }
}
