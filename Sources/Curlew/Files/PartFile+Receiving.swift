extension PartFile {
    /// Writes what a body yields, from an offset on, and waits until it is written.
    ///
    /// An error leaves what came before it in the file: those who want to go on keep it, others discard it.
    /// - Parameter check: Told of each number of bytes that the file will have, before they are written.
    /// - Returns: How many bytes came.
    func receive(
        _ body: ResponseBody, at offset: Int64 = 0, check: (Int64) throws -> Void = { _ in }
    ) async throws -> Int64 {
        var end = offset
        var chunks = body.makeAsyncIterator()
        let memory = chunks.takeOverMemory()
        do {
            while let chunk = try await chunks.next() {
                // Where the disk is slower than the network there is always a next chunk, and nothing that would throw.
                try Task.checkCancellation()
                try check(end + Int64(chunk.count))
                let count = Int64(chunk.count)
                try await write(chunk, at: end, memory: memory)
                end += count
            }
            try Task.checkCancellation()
        } catch {
            // What was handed over shall be there, or have failed, when somebody looks at the file.
            try? await drain()
            throw error
        }
        try await drain()
        return end - offset
    }
}
