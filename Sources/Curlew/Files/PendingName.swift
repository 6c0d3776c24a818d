internal import Dispatch
internal import Glibc

/// A file that is whole and not yet named, written down before it is given its name, so that whoever comes after a crash can
/// see whether it was.
package struct PendingName: Sendable, Hashable, Codable {
    /// The path of the part file.
    package let part: String
    /// The path that it is to have.
    package let target: String
    /// True if it takes the place of a file that has the name.
    package let replaces: Bool
    private let identity: FileSnapshot

    init(part: String, target: String, replaces: Bool, identity: FileSnapshot) {
        self.part = part
        self.target = target
        self.replaces = replaces
        self.identity = identity
    }

    /// The size of the file in bytes.
    package var size: Int64 { identity.size }

    /// The state of a file that was to be named.
    package enum Settlement: Sendable, Equatable {
        /// It has its name, now or since before.
        case isNamed
        /// Another file has the name, and the part is still there.
        case isTaken
        /// Neither name leads to it.
        case isLost
    }

    /// Gives the file its name, unless it has it. Several processes may do so at once: one of them names it, and the others see
    /// that. The part is whole, so nobody need hold its lock.
    /// - Throws: ``CurlewError`` with ``ErrorCode/fileFailed`` or ``ErrorCode/diskFull`` if it can be neither seen nor done.
    package func settle() async throws -> Settlement {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(with: Result { try settleNow() }) }
        }
    }

    private func settleNow() throws -> Settlement {
        let source = try FilePlace(part)
        let place = try FilePlace(target)
        guard let folder = try? OpenFolder(source.folder, creates: false) else { return try settledWithoutPart(place) }
        // Somebody else may name it at the same moment.
        for _ in 0..<3 {
            guard isIt(folder, source.name) else { return try settledWithoutPart(place) }
            let targetFolder = try OpenFolder(place.folder, creates: false)
            if isIt(targetFolder, place.name) {
                // It has both names, where a file system cannot move without replacing.
                folder.remove(source.name)
                return try finished(targetFolder)
            }
            let result =
                replaces
                ? folder.moveReplacing(source.name, to: targetFolder, as: place.name)
                : folder.move(source.name, to: targetFolder, as: place.name)
            switch result {
            case 0: return try finished(targetFolder)
            case EEXIST:
                if isIt(targetFolder, place.name) { continue }
                return .isTaken
            case ENOENT: continue
            default: throw CurlewError(errorNumber: result, "the file cannot be moved to its destination")
            }
        }
        return try settledWithoutPart(place)
    }

    private func finished(_ folder: OpenFolder) throws -> Settlement {
        try folder.synchronize()
        return .isNamed
    }

    private func settledWithoutPart(_ place: FilePlace) throws -> Settlement {
        guard let folder = try? OpenFolder(place.folder, creates: false), isIt(folder, place.name) else {
            return .isLost
        }
        return try finished(folder)
    }

    /// True if a name leads to the file, as it was when it was whole.
    private func isIt(_ folder: OpenFolder, _ name: String) -> Bool {
        guard folder.status(of: name).map({ $0.st_mode & S_IFMT == S_IFREG }) == true else { return false }
        return (try? FileSnapshot(statusOf: folder.path(of: name), for: .keeping)) == identity
    }
}

/// A part file that has all its bytes, and is checked.
package struct WholeFile: Sendable {
    private let part: PartFile
    /// The absolute path that it is to have.
    package let target: String
    private let existing: Destination.ExistingFile
    private let identity: FileSnapshot

    init(part: PartFile, target: String, existing: Destination.ExistingFile, identity: FileSnapshot) {
        self.part = part
        self.target = target
        self.existing = existing
        self.identity = identity
    }

    /// The names that it may be given are numbered from 0.
    private var lastCandidate: Int { existing == .unique ? 9999 : 0 }

    private func candidate(_ number: Int) throws -> String {
        guard number > 0 else { return target }
        let place = try FilePlace(target)
        return place.path(of: FileName(place.name).fitted(to: FilePlace.nameLimit, number: number))
    }

    /// Gives it its name, after it is on the disk.
    /// - Parameter announce: Called with each name before it is tried; what it throws ends the naming.
    /// - Returns: The path.
    /// - Throws: ``CurlewError``: ``ErrorCode/fileExists``, ``ErrorCode/fileFailed``, ``ErrorCode/diskFull``.
    package func name(_ announce: (PendingName) async throws -> Void) async throws -> String {
        try await part.synchronize()
        for number in 0...lastCandidate {
            let candidate = try candidate(number)
            // Those that are taken are not even announced.
            if existing == .unique, access(candidate, F_OK) == 0 { continue }
            let pending = PendingName(
                part: part.path, target: candidate, replaces: existing == .replace, identity: identity)
            try await announce(pending)
            let settlement: PendingName.Settlement
            // Whoever settles it later needs the part.
            do { settlement = try await pending.settle() } catch let error as CurlewError {
                throw error.adding(CurlewError.Context(file: part.path))
            }
            switch settlement {
            case .isNamed:
                await part.release()
                return candidate
            case .isTaken:
                if existing != .unique { throw OpenFolder.fileExists.adding(CurlewError.Context(file: part.path)) }
            case .isLost: throw CurlewError(.fileFailed, "the file was removed or replaced by another")
            }
        }
        throw OpenFolder.fileExists.adding(CurlewError.Context(file: part.path))
    }
}
