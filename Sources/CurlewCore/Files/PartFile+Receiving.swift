extension PartFile {
    /// The result of writing a body into a file.
    package struct Reception {
        /// The offset of the first byte that was not written.
        package let end: Int64
        /// True if the body exceeded the limit. The chunk that exceeded it was not written.
        package var isTooLong = false
    }

    /// The treatment of bytes beyond the limit.
    package enum Surplus {
        /// Reading stops at the limit, even if the body continues.
        case cutOff
        /// Bytes beyond the limit are an error.
        case refused
    }

    /// Writes a body chunk by chunk, for downloads, saved responses and spooled bodies. The closure `write` decides how
    /// to write a chunk, and returns when the next may come.
    ///
    /// After an error the chunks before it remain in the file: a caller that resumes keeps them, others discard the
    /// file.
    /// - Parameters:
    ///   - offset: The offset of the first chunk.
    ///   - limit: The end of the body; `Int64.max` if it is unknown.
    ///   - surplus: The treatment of bytes beyond the limit.
    ///   - next: Yields the chunks.
    ///   - write: Writes a chunk at an offset.
    package static func receive(
        at offset: Int64 = 0, upTo limit: Int64 = .max, surplus: Surplus = .refused,
        next: () async throws -> [UInt8]?, write: (consuming [UInt8], Int64) async throws -> Void
    ) async throws -> Reception {
        var end = offset
        while let chunk = try await next() {
            // If the disk is slower than the network, a chunk is always ready, and `next` never throws for the
            // cancellation.
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
