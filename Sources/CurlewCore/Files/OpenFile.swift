internal import CurlewPlatform

/// An open file and its name in its folder. Its calls block, so ``PartFile`` makes them on a queue.
///
/// A lock (`flock`) keeps two processes from writing one file.
final class OpenFile: Sendable {
    /// The path of the file.
    let path: String
    private let name: String
    private let folder: OpenFolder
    private let descriptor: Int32

    /// Takes ownership of a descriptor that is open for reading and writing, and locks the file.
    private init(place: FilePlace, folder: OpenFolder, descriptor: Int32) throws {
        path = place.path(of: place.name)
        name = place.name
        self.folder = folder
        self.descriptor = descriptor
        let locked = FileCall { flock(descriptor, LOCK_EX | LOCK_NB) }
        guard locked.errorNumber == EWOULDBLOCK else { return }  // Not every file system has locks.
        throw CurlewError(.partFileInUse, "the part file is in use")
    }

    deinit { close(descriptor) }

    // MARK: Creation and opening

    private static let attempts = 16

    /// Creates a part file beside its destination: `.NAME.RANDOM.part`.
    convenience init(
        beside destination: String, named fixedName: String? = nil, existing: Destination.ExistingFile,
        createsFolders: Bool, permissions: mode_t
    ) throws {
        let place = try FilePlace(destination)
        let folder = try OpenFolder(place.folder, creates: createsFolders)
        try folder.checkPlace(of: place.name, existing: existing)
        for attempt in 0..<Self.attempts {
            // Some file systems only allow shorter names, so the later attempts omit the destination's name.
            let name = fixedName ?? Self.partName(for: attempt < Self.attempts / 2 ? place.name : "")
            let opened = folder.open(name, O_RDWR | O_CREAT | O_EXCL, permissions: permissions)
            let isTaken = opened.errorNumber == EEXIST || opened.errorNumber == ENAMETOOLONG
            if isTaken, fixedName == nil { continue }
            let descriptor = Int32(try opened.get("there can be no file beside the destination"))
            try self.init(place: try FilePlace(place.path(of: name)), folder: folder, descriptor: descriptor)
            return
        }
        throw CurlewError(.fileFailed, "there can be no file beside the destination")
    }

    /// Opens an existing part file.
    convenience init(leftBehindAt path: String) throws {
        let place = try FilePlace(path)
        let folder = try OpenFolder(place.folder, creates: false)
        let descriptor = Int32(try folder.open(place.name, O_RDWR).get("the part file cannot be opened"))
        try Self.checkOwner(of: descriptor)
        try self.init(place: place, folder: folder, descriptor: descriptor)
        // The previous owner of the lock may just have moved the file to its destination.
        guard isInItsPlace else { throw CurlewError(.fileFailed, "the part file no longer exists") }
    }

    /// Rejects a file that another user owns, because that user could change it at any time. It also rejects a file
    /// with a second name, because its content may be needed there.
    private static func checkOwner(of descriptor: Int32) throws {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw CurlewError(.fileFailed, "the part file is no regular file")
        }
        guard status.st_uid == geteuid() || status.st_uid == 0, status.st_nlink == 1 else {
            close(descriptor)
            throw CurlewError(.fileFailed, "the part file belongs to another user, or has a second name")
        }
    }

    private static func partName(for name: String) -> String {
        let random = String(UInt64.random(in: 0...UInt64.max), radix: 36)
        let end = ".\(random).part"
        return ".\(FileName.prefix(of: name, bytes: FilePlace.nameLimit - end.utf8.count - 1))\(end)"
    }

    /// Releases the lock, so that the file can be reopened at once.
    func unlock() { _ = flock(descriptor, LOCK_UN) }

    // MARK: Bytes

    func write(_ bytes: [UInt8], at offset: Int64) throws {
        var done = 0
        while done < bytes.count {
            let start = done
            let call = bytes.withUnsafeBytes { space in
                FileCall {
                    pwrite(descriptor, space.baseAddress! + start, space.count - start, off_t(offset) + off_t(start))
                }
            }
            let count = try call.get("the file cannot be written")
            guard count > 0 else { throw CurlewError(errorNumber: EIO, "the file cannot be written") }
            done += count
        }
    }

    /// - Throws: ``CurlewError`` with ``ErrorCode/fileFailed``, also if the file has no byte at the offset.
    func read(upTo count: Int, at offset: Int64) throws -> [UInt8] {
        var call: FileCall?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { space, filled in
            let made = FileCall { pread(descriptor, space.baseAddress, count, off_t(offset)) }
            filled = max(0, made.value)
            call = made
        }
        try call?.get("the file cannot be read")
        guard !bytes.isEmpty else { throw CurlewError(.fileFailed, "the file became shorter while it was read") }
        return bytes
    }

    func truncate(to size: Int64) throws {
        try FileCall { ftruncate(descriptor, off_t(size)) }.get("the file cannot be cut off")
    }

    func synchronize() throws { try FileCall { fsync(descriptor) }.get("the file cannot be synchronized") }

    /// Reports delayed write errors. Network file systems report them when a descriptor is closed. Closing a duplicate
    /// is enough, and keeps the lock.
    private func flush() throws {
        let duplicate = FileCall { fcntl(descriptor, F_DUPFD_CLOEXEC, 0) }
        guard duplicate.errorNumber == 0 else { return }
        // `close` is not repeated: the descriptor is free after an error too.
        if close(Int32(duplicate.value)) != 0, errno != EINTR {
            throw CurlewError(errorNumber: errno, "the file cannot be written")
        }
    }

    func snapshot() throws -> FileSnapshot { try FileSnapshot(descriptor: descriptor, for: .keeping) }

    /// - Throws: ``CurlewError`` with ``ErrorCode/diskFull`` if the disk lacks room for that number of further bytes.
    func checkRoom(for count: Int64) throws {
        var status = statvfs()
        // Some network file systems report zero blocks; their free space is unknown.
        guard FileCall({ fstatvfs(descriptor, &status) }).errorNumber == 0, status.f_blocks > 0 else { return }
        let blocks = geteuid() == 0 ? status.f_bfree : status.f_bavail
        let (room, overflows) = UInt64(blocks).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        guard !overflows, UInt64(max(0, count)) > room else { return }
        throw CurlewError(.diskFull, "\(count) bytes are to come, and the disk has room for \(room)")
    }

    // MARK: Name

    /// True if the file's name still refers to it.
    private var isInItsPlace: Bool {
        var status = stat()
        guard fstat(descriptor, &status) == 0, let there = folder.status(of: name) else { return false }
        return there.st_dev == status.st_dev && there.st_ino == status.st_ino
    }

    /// Removes the file, but not another file that now has its name, nor the file after its renaming.
    func remove() {
        if isInItsPlace { folder.remove(name) }
    }

    /// Checks that the file can be moved to a path later, and creates missing folders if requested.
    func checkDestination(_ path: String, existing: Destination.ExistingFile, createsFolders: Bool) throws {
        let place = try FilePlace(path)
        let isHere = place.folder == folder.path
        let target = isHere ? folder : try OpenFolder(place.folder, creates: createsFolders)
        guard target.device == folder.device else {
            throw CurlewError(.invalidDestination, "the part file lies on another file system than the destination")
        }
        try target.checkPlace(of: place.name, existing: existing)
    }

    /// Moves the file to its final name, in one step.
    func commit(to path: String, existing: Destination.ExistingFile, synchronizes: Bool) throws -> String {
        if synchronizes { try synchronize() } else { try flush() }
        do {
            let place = try FilePlace(path)
            let target = try self.target(place)
            let name = try move(to: target, as: place.name, existing: existing)
            unlock()
            guard synchronizes else { return place.path(of: name) }
            return try synchronize(target, place.path(of: name))
        } catch let error as CurlewError {
            let location = isInItsPlace ? folder.path(of: name) : nil
            throw error.adding(CurlewError.Context(file: location))
        }
    }

    /// The folder of the destination, which usually is the file's own.
    private func target(_ place: FilePlace) throws -> OpenFolder {
        let folder = place.folder == self.folder.path ? self.folder : try OpenFolder(place.folder, creates: false)
        guard folder.isInItsPlace else {
            throw CurlewError(.fileFailed, "the folder of the destination was moved or removed")
        }
        return folder
    }

    private func move(to target: OpenFolder, as name: String, existing: Destination.ExistingFile) throws -> String {
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
}
