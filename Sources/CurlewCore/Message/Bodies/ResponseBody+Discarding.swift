extension CurlewResponse {
    /// The most bytes of an unwanted body that are read to make its connection reusable.
    static let discardLimit: ByteSize = .kibibytes(64)
    /// The longest time for reading an unwanted body.
    static let discardPatience = Duration.seconds(1)

    /// Discards the rest of the body. Up to 64 KiB of it are read, for at most one second, to keep the connection
    /// reusable.
    ///
    /// A longer or slower body is cancelled, which closes an HTTP/1 connection. Over HTTP/2 a cancelled body only ends
    /// its stream, so nothing is waited for.
    public func discard() async {
        await body.discard(upTo: Self.discardLimit, within: version.major < 2 ? Self.discardPatience : .zero)
        // The exchange is cancelled here because the caller may hold the response for longer.
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
            // If the clock came first, this cancels the reading and so the transfer.
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

    /// Reads without reporting errors, as the body is unwanted.
    private func read(upTo limit: Int) async {
        var left = limit
        var iterator = makeAsyncIterator()
        while left >= 0, let chunk = try? await iterator.next() { left -= chunk.count }
    }
}
