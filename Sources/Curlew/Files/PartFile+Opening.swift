internal import Dispatch
internal import Glibc

extension PartFile {
    /// Makes a file beside another one that it is to become: `.NAME.RANDOM.part`.
    /// - Parameters:
    ///   - destination: The path that the file is to have in the end.
    ///   - existing: What becomes of a file that is there. With ``ExistingFile/fail`` this throws, before a byte is written.
    ///   - createsFolders: Whether missing folders are made.
    ///   - permissions: Those of the file, without the bits of the umask.
    /// - Throws: ``CurlewError``: ``ErrorCode/invalidDestination``, ``ErrorCode/fileExists``, ``ErrorCode/diskFull``,
    ///   ``ErrorCode/fileFailed``.
    static func create(
        beside destination: String, existing: ExistingFile = .replace, createsFolders: Bool = false,
        permissions: mode_t = 0o666
    ) async throws -> PartFile {
        let queue = DispatchQueue(label: "curlew.file")
        return try await perform(on: queue) {
            let place = try FilePlace(destination)
            let folder = try OpenFolder(place.folder, creates: createsFolders)
            try folder.checkPlace(of: place.name, existing: existing)
            for attempt in 0..<attempts {
                // Some file systems take only shorter names.
                let name = partName(for: attempt < attempts / 2 ? place.name : "")
                let opened = folder.open(name, O_RDWR | O_CREAT | O_EXCL, permissions: permissions)
                if opened.errorNumber == EEXIST || opened.errorNumber == ENAMETOOLONG { continue }
                let descriptor = Int32(try opened.get("there can be no file beside the destination"))
                let part = PartFile(
                    place: try FilePlace(place.path(of: name)), folder: folder, descriptor: descriptor, queue: queue)
                try part.lock()
                return part
            }
            throw CurlewError(.fileFailed, "there can be no file beside the destination")
        }
    }

    /// Opens a file that was left behind, to go on with it.
    /// - Throws: ``CurlewError`` with ``ErrorCode/partFileInUse`` if somebody else has it; ``ErrorCode/fileFailed`` if it is
    ///   not there, or is no regular file, if it belongs to another user (root excepted), or has several names.
    static func reopen(_ path: String) async throws -> PartFile {
        let queue = DispatchQueue(label: "curlew.file")
        return try await perform(on: queue) {
            let place = try FilePlace(path)
            let folder = try OpenFolder(place.folder, creates: false)
            let descriptor = Int32(
                try folder.open(place.name, O_RDWR).get("the part file cannot be opened"))
            let part = PartFile(place: place, folder: folder, descriptor: descriptor, queue: queue)
            var status = stat()
            guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
                throw CurlewError(.fileFailed, "the part file is no regular file")
            }
            // What others own they can change at any time, and under a second name it may be dear to somebody.
            guard status.st_uid == geteuid() || status.st_uid == 0, status.st_nlink == 1 else {
                throw CurlewError(.fileFailed, "the part file is somebody else's, or has another name")
            }
            try part.lock()
            // Whoever had it may have moved it to its destination just now.
            guard part.isInItsPlace else { throw CurlewError(.fileFailed, "the part file is gone") }
            return part
        }
    }

    private static let attempts = 16

    private static func partName(for name: String) -> String {
        let random = String(UInt64.random(in: 0...UInt64.max), radix: 36)
        let end = ".\(random).part"
        return ".\(FileName.prefix(of: name, bytes: FilePlace.nameLimit - end.utf8.count - 1))\(end)"
    }

    private func lock() throws {
        let locked = FileCall { flock(descriptor, LOCK_EX | LOCK_NB) }
        guard locked.errorNumber == EWOULDBLOCK else { return }  // Not every file system has locks.
        throw CurlewError(.partFileInUse, "the part file is in use")
    }
}

extension OpenFolder {
    /// Looks whether a file may go where this name is.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidDestination`` for a folder, a device, a pipe, or a link to one, which
    ///   no file may replace; with ``ErrorCode/fileExists``.
    func checkPlace(of name: String, existing: ExistingFile) throws {
        guard let status = status(of: name) else { return }
        // A link whose target is not there counts as itself.
        let isLink = status.st_mode & S_IFMT == S_IFLNK
        let kind = (isLink ? self.status(of: name, followsLink: true) : status).map { $0.st_mode & S_IFMT } ?? S_IFREG
        guard kind == S_IFREG else {
            let thing = kind == S_IFDIR ? "a folder" : "no regular file"
            throw CurlewError(.invalidDestination, "what is at the destination is \(thing)")
        }
        if existing == .fail { throw Self.fileExists }
    }

    static var fileExists: CurlewError { CurlewError(.fileExists, "there is a file at the destination already") }
}
