extension PartFile {
    /// The result of writing a body into a file.
    struct Reception {
        /// The first byte that was not written.
        let end: Int64
        /// True if the body went beyond the limit. Of the chunk that did nothing was written.
        var isTooLong = false
    }

    /// What to do with bytes beyond the limit.
    enum Surplus {
        /// The body is left at the limit, without asking whether it has more.
        case cutOff
        /// The body is too long.
        case refused
    }

    /// Writes chunk after chunk: the one loop of downloads, saved responses and spooled bodies. What writes a chunk decides
    /// how, and returns when the next may come.
    ///
    /// An error leaves what came before it in the file: those who want to resume keep it, others discard it.
    /// - Parameters:
    ///   - offset: Where the first chunk goes.
    ///   - limit: The first byte that the body does not have; `Int64.max` if that is not known.
    ///   - surplus: What to do with bytes beyond it.
    ///   - next: Yields the chunks.
    ///   - write: Writes a chunk at an offset.
    static func receive(
        at offset: Int64 = 0, upTo limit: Int64 = .max, surplus: Surplus = .refused,
        next: () async throws -> [UInt8]?, write: (consuming [UInt8], Int64) async throws -> Void
    ) async throws -> Reception {
        var end = offset
        while let chunk = try await next() {
            // Where the disk is slower than the network there is always a next chunk, and nothing that would throw.
            try Task.checkCancellation()
            let room = limit - end
            let count = Int64(chunk.count)
            if count <= room {
                try await write(chunk, end)
                end += count
                if surplus == .cutOff, end == limit { break }
            } else if surplus == .cutOff {
                try await write(Array(chunk.prefix(Int(room))), end)
                return Reception(end: limit)
            } else {
                return Reception(end: end, isTooLong: true)
            }
        }
        return Reception(end: end)
    }
}
