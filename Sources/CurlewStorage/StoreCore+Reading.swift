#if Storage
internal import Curlew
internal import CurlewPlatform

extension StoreCore {
    // MARK: Entries

    /// The entries under a key; a single entry includes its body.
    private struct Found: Sendable {
        var entries: [StoredEntry]
        /// The body of a single entry, if it is a file.
        var fileBody: [UInt8]?
    }

    func entries(for key: HTTPCache.Entry.Key) async throws -> [HTTPCache.Entry] {
        let found = try await withIndex { index in
            try await index.read { database in
                var found = Found(
                    entries: try CacheQueries(database: database, decoded: self.decoded).entries(for: key))
                if found.entries.count == 1 { found.fileBody = self.cachedFile(of: found.entries[0]) }
                return found
            }
        }
        let (entries, damaged) = decode(found.entries) { $0.key == key }
        if let entry = entries.first, let stored = found.entries.first, found.entries.count == 1 {
            if let bytes = found.fileBody ?? stored.body, stored.isFile || isWhole(bytes, stored) {
                recentBodies.withLock { $0.insert(bytes, of: entry.id, now: .now) }
            } else if !stored.isFile {
                try await discard([stored.id], because: "its body is damaged")
                return []
            }
        }
        try await discard(damaged, because: "its fields are damaged")
        return entries.count > 1 ? inOrderOfUse(entries, found.entries) : entries
    }

    func list(after id: HTTPCache.Entry.ID?, count: Int) async throws -> [HTTPCache.Entry] {
        var entries: [HTTPCache.Entry] = []
        var last = id?.description ?? ""
        while entries.count < count {
            let (start, wanted) = (last, count - entries.count)
            let stored = try await withIndex { index in
                try await index.read { try CacheQueries(database: $0).list(after: start, count: wanted) }
            }
            let (decoded, damaged) = decode(stored) { _ in true }
            entries += decoded
            try await discard(damaged, because: "its fields are damaged")
            guard let end = stored.last?.id, stored.count == wanted else { break }
            last = end
        }
        return entries
    }

    private func decode(
        _ stored: [StoredEntry], _ isExpected: (HTTPCache.Entry) -> Bool
    ) -> (entries: [HTTPCache.Entry], damaged: [String]) {
        var entries: [HTTPCache.Entry] = []
        var damaged: [String] = []
        for row in stored {
            if let entry = entry(row), entry.id.description == row.id,
                entry.bodySize == row.bodySize, isExpected(entry)
            {
                entries.append(entry)
            } else {
                damaged.append(row.id)
            }
        }
        return (entries, damaged)
    }

    private func entry(_ stored: StoredEntry) -> HTTPCache.Entry? {
        switch stored.fields {
        case .decoded(let entry): return entry
        case .encoded(let metadata):
            guard let entry = try? HTTPCache.Entry(encoded: metadata) else { return nil }
            decoded.withLock { $0.insert(entry, stored.id, of: metadata) }
            return entry
        }
    }

    private func inOrderOfUse(_ entries: [HTTPCache.Entry], _ stored: [StoredEntry]) -> [HTTPCache.Entry] {
        let pending = pendingTimes(of: entries.map(\.id))
        let written = Dictionary(stored.map { ($0.id, $0.used) }) { first, _ in first }
        return entries.map { ($0, max(pending[$0.id] ?? .min, written[$0.id.description] ?? .min)) }
            .sorted { $0.1 > $1.1 }.map(\.0)
    }

    private func isWhole(_ bytes: [UInt8], _ stored: StoredEntry) -> Bool {
        Int64(bytes.count) == stored.bodySize && Checksum.crc32(bytes, after: 0) == stored.checksum
    }

    /// The body of an entry in a file of at most ``OpenBody/chunkSize``, if the kernel has cached it; never waits for
    /// the disk.
    private func cachedFile(of stored: StoredEntry) -> [UInt8]? {
        guard stored.isFile, stored.boot == boot, (0...Int64(OpenBody.chunkSize)).contains(stored.bodySize),
            let id = HTTPCache.Entry.ID(stored.id)
        else { return nil }
        if let bytes = recentBodies.withLock({ $0.bytes(of: id, now: .now) }) { return bytes }
        guard let file = try? folder.openBody(id) else { return nil }
        let body = OpenBody(file.descriptor, queue: queues.next)
        return file.size == stored.bodySize ? body.readCached(0..<stored.bodySize) : nil
    }

    // MARK: Bodies

    /// The location of an entry's body.
    private enum Place: Sendable {
        case none
        case bytes([UInt8], StoredEntry)
        case file(OpenBody, StoredEntry)
        case missingFile
        case wrongSize
    }

    func body(of entry: HTTPCache.Entry, range: Range<Int64>) async throws -> CurlewResponse.Body? {
        guard range.lowerBound >= 0, range.upperBound <= entry.bodySize else {
            throw CurlewError(.cacheFailed, "the body of an entry has no such range")
        }
        if let bytes = recentBodies.withLock({ $0.take(entry.id, now: .now) }), range.upperBound <= bytes.count {
            noteUse(of: entry.id)
            return body(bytes, range)
        }
        switch try await place(of: entry) {
        case .none: return nil
        case .missingFile:
            // A body that another store has just removed is not damaged.
            guard case .missingFile = try await place(of: entry) else { return nil }
            try await discard([entry.id.description], because: "its body is missing")
            return nil
        case .wrongSize:
            try await discard([entry.id.description], because: "its body has another size")
            return nil
        case .bytes(let bytes, let stored):
            guard isWhole(bytes, stored) else {
                try await discard([entry.id.description], because: "its body is damaged")
                return nil
            }
            noteUse(of: entry.id)
            return body(bytes, range)
        case .file(let file, let stored): return try await body(file, stored, entry.id, range)
        }
    }

    private func place(of entry: HTTPCache.Entry) async throws -> Place {
        try await withIndex { index in
            try await index.read { database in
                guard let stored = try CacheQueries(database: database).entry(entry.id),
                    stored.bodySize == entry.bodySize
                else { return .none }
                if !stored.isFile { return .bytes(stored.body ?? [], stored) }
                guard let file = try self.folder.openBody(entry.id) else { return .missingFile }
                let body = OpenBody(file.descriptor, queue: self.queues.next)
                return file.size == stored.bodySize ? .file(body, stored) : .wrongSize
            }
        }
    }

    private func body(
        _ file: OpenBody, _ stored: StoredEntry, _ id: HTTPCache.Entry.ID, _ range: Range<Int64>
    ) async throws -> CurlewResponse.Body? {
        var isVerified = false
        if stored.boot != boot, !self.isVerified(id) {
            guard try await file.verify(size: stored.bodySize, checksum: stored.checksum) else {
                try await discard([stored.id], because: "its body is damaged")
                return nil
            }
            isVerified = true
        }
        noteUse(of: id, isVerified: isVerified)
        if range.count <= OpenBody.chunkSize, let bytes = file.readCached(range) { return .bytes(bytes) }
        return .stream(BodyChunks(body: file, range: range), length: Int64(range.count))
    }

    private func body(_ bytes: [UInt8], _ range: Range<Int64>) -> CurlewResponse.Body {
        .bytes(range.count == bytes.count ? bytes : Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)]))
    }
}
#endif
