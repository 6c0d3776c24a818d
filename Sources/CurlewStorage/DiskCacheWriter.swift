#if Storage
internal import Curlew
internal import Dispatch
internal import CurlewPlatform

/// A writer for an entry on the disk. A small body is buffered in memory; a larger one is written to its own file.
final class DiskCacheWriter: HTTPCache.Writer {
    /// The number of bytes that are buffered before a write: 64 KiB.
    private static let gatheredLimit = 64 << 10

    private struct State {
        var gathered: [UInt8] = []
        var count: Int64 = 0
        var checksum: UInt32 = 0
        /// The descriptor of the body's file, if there is one.
        var descriptor: Int32?
        var hasEnded = false

        /// Writes the buffered bytes. It blocks.
        mutating func flush(_ id: HTTPCache.Entry.ID, in folder: StoreFolder) throws {
            let file = try descriptor ?? folder.createPart(id)
            descriptor = file
            checksum = Checksum.crc32(gathered, after: checksum)
            try folder.write(gathered, to: file)
            gathered = []
        }
    }

    private let id: HTTPCache.Entry.ID
    private let core: StoreCore
    private let queue: DispatchQueue
    private let state = Guarded(State())

    init(_ id: HTTPCache.Entry.ID, core: StoreCore) {
        self.id = id
        self.core = core
        queue = core.queues.next
    }

    deinit {
        guard let descriptor = state.withLock({ $0.descriptor }) else { return }
        queue.async { [id, core] in
            core.folder.removePart(id)
            close(descriptor)
        }
    }

    func append(_ bytes: [UInt8]) async throws {
        let (isTooLarge, isFull) = try state.withLock { state in
            guard !state.hasEnded else { throw CurlewError(.cacheFailed, "the entry was committed or discarded") }
            state.count += Int64(bytes.count)
            if state.count > Int64(core.limits.entry) { return (true, false) }
            if state.gathered.isEmpty { state.gathered = bytes } else { state.gathered += bytes }
            return (false, state.gathered.count > Self.gatheredLimit)
        }
        if isTooLarge {
            await discard()
            throw core.tooLarge
        }
        guard isFull else { return }
        do {
            try await flush()
        } catch {
            await discard()
            throw error
        }
    }

    private func flush() async throws {
        try await queue.perform { [self] in try state.withLock { try $0.flush(id, in: core.folder) } }
    }

    func commit(_ entry: HTTPCache.Entry, replacing replaced: [HTTPCache.Entry.ID]) async throws {
        let isSmall = try state.withLock { state in
            guard !state.hasEnded else { throw CurlewError(.cacheFailed, "the entry was committed or discarded") }
            return state.descriptor == nil && state.count <= Int64(DiskCacheStore.inlineLimit.bytes)
        }
        do {
            let count = state.withLock { $0.count }
            guard entry.id == id, entry.bodySize == count else {
                throw CurlewError(
                    .cacheFailed, "the entry is not the one that was written, or not of its \(count) bytes")
            }
            if isSmall { try await commitBytes(entry, replaced) } else { try await commitFile(entry, replaced) }
        } catch {
            await discard()
            throw error
        }
    }

    private func commitBytes(_ entry: HTTPCache.Entry, _ replaced: [HTTPCache.Entry.ID]) async throws {
        let bytes = state.withLock { $0.gathered }
        try await core.commit(entry, checksum: Checksum.crc32(bytes, after: 0), body: bytes, replacing: replaced)
        state.withLock { state in
            state.gathered = []
            state.hasEnded = true
        }
    }

    /// The file stays locked until its entry is committed, so that no other store removes it as a leftover.
    private func commitFile(_ entry: HTTPCache.Entry, _ replaced: [HTTPCache.Entry.ID]) async throws {
        let (descriptor, checksum) = try await queue.perform { [self] in
            try state.withLock { state in
                try state.flush(id, in: core.folder)
                try core.folder.finishPart(id)
                state.hasEnded = true
                defer { state.descriptor = nil }
                return (state.descriptor, state.checksum)
            }
        }
        do {
            try await core.commit(entry, checksum: checksum, body: nil, replacing: replaced)
        } catch {
            try? await queue.perform { [id, core] in
                core.folder.removeBody(id)
                if let descriptor { close(descriptor) }
            }
            throw error
        }
        if let descriptor { queue.async { close(descriptor) } }
    }

    func discard() async {
        let descriptor = state.withLock { state in
            state.hasEnded = true
            state.gathered = []
            defer { state.descriptor = nil }
            return state.descriptor
        }
        guard let descriptor else { return }
        try? await queue.perform { [id, core] in
            core.folder.removePart(id)
            close(descriptor)
        }
    }
}

extension StoreCore {
    var tooLarge: CurlewError { CurlewError(.cacheFailed, "a body is larger than \(limits.entry) bytes") }
}
#endif
