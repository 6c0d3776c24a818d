internal import Glibc

extension PartFile {
    /// Gives the file its name, in one step. It must not be written to afterwards.
    /// - Parameters:
    ///   - path: The path that it is to have.
    ///   - existing: What becomes of a file that is there.
    ///   - synchronizes: Whether to wait until the file, and its name, are on the disk.
    /// - Returns: Its path: another one only with ``ExistingFile/unique``.
    /// - Throws: ``CurlewError``. If the bytes are whole and could not be moved, ``CurlewError/file`` says where they lie.
    func commit(to path: String, existing: ExistingFile, synchronizes: Bool) async throws -> String {
        try await perform {
            try self.flush(synchronizes)
            do {
                let place = try FilePlace(path)
                let target = try self.target(place)
                let name = try self.move(to: target, as: place.name, existing: existing)
                _ = flock(self.descriptor, LOCK_UN)
                guard synchronizes else { return place.path(of: name) }
                return try self.synchronize(target, place.path(of: name))
            } catch let error as CurlewError {
                throw error.adding(CurlewError.Context(file: self.location))
            }
        }
    }

    /// Looks whether the file can be given a path in the end, and makes missing folders if wanted. ``commit`` looks again.
    /// - Throws: ``CurlewError``: ``ErrorCode/invalidDestination``, also for a folder on another file system, to which
    ///   nothing can be moved; ``ErrorCode/fileExists``; ``ErrorCode/fileFailed``.
    func checkDestination(_ path: String, existing: ExistingFile, createsFolders: Bool) async throws {
        try await perform {
            let place = try FilePlace(path)
            let isHere = place.folder == self.folder.path
            let target = isHere ? self.folder : try OpenFolder(place.folder, creates: createsFolders)
            guard target.device == self.folder.device else {
                throw CurlewError(.invalidDestination, "the part file lies on another file system than the destination")
            }
            try target.checkPlace(of: place.name, existing: existing)
        }
    }

    /// Brings errors to light that a disk has kept to itself until now: those of a network's file system come with the
    /// closing, and closing a duplicate is enough for that and keeps the lock.
    private func flush(_ synchronizes: Bool) throws {
        if synchronizes {
            try FileCall { fsync(descriptor) }.get("the file cannot be synchronized")
        } else {
            let duplicate = FileCall { fcntl(descriptor, F_DUPFD_CLOEXEC, 0) }
            guard duplicate.errorNumber == 0 else { return }
            // Not called again: the descriptor is free after an error too.
            if close(Int32(duplicate.value)) != 0, errno != EINTR {
                throw CurlewError(errorNumber: errno, "the file cannot be written")
            }
        }
    }

    /// The folder that the file goes to: mostly the one it is in.
    private func target(_ place: FilePlace) throws -> OpenFolder {
        let folder = place.folder == self.folder.path ? self.folder : try OpenFolder(place.folder, creates: false)
        guard folder.isInItsPlace else {
            throw CurlewError(.fileFailed, "the folder of the destination was moved or removed")
        }
        return folder
    }

    private func move(to target: OpenFolder, as name: String, existing: ExistingFile) throws -> String {
        guard isInItsPlace else { throw CurlewError(.fileFailed, "the file was removed or replaced by another") }
        try target.checkPlace(of: name, existing: existing)
        switch existing {
        case .replace: try check(folder.moveReplacing(self.name, to: target, as: name))
        case .fail: try check(folder.move(self.name, to: target, as: name))
        case .unique: return try moveToFreeName(target, name)
        }
        return name
    }

    private static let highestNumber = 9_999

    private func moveToFreeName(_ target: OpenFolder, _ name: String) throws -> String {
        let parts = FileName(name)
        for number in 0...Self.highestNumber {
            let candidate = number == 0 ? name : parts.fitted(to: FilePlace.nameLimit, number: number)
            if target.status(of: candidate) != nil { continue }
            let result = folder.move(self.name, to: target, as: candidate)
            if result == EEXIST { continue }
            try check(result)
            return candidate
        }
        throw OpenFolder.fileExists
    }

    private func check(_ errorNumber: Int32) throws {
        if errorNumber == EEXIST { throw OpenFolder.fileExists }
        guard errorNumber == 0 else {
            throw CurlewError(errorNumber: errorNumber, "the file cannot be moved to its destination")
        }
    }

    private func synchronize(_ target: OpenFolder, _ path: String) throws -> String {
        do {
            try target.synchronize()
            return path
        } catch let error as CurlewError {
            throw error.adding(CurlewError.Context(file: path))
        }
    }

    /// Where the file lies now, if it does.
    private var location: String? { isInItsPlace ? folder.path(of: name) : nil }
}
