internal import CurlewPlatform
internal import Dispatch

/// A record of a complete file that is about to be renamed. After a crash, it shows if the renaming was done.
package struct PendingName: Sendable, Hashable, Codable {
    /// The path of the part file.
    package let part: String
    /// The final path.
    package let target: String
    /// True if the renaming replaces an existing file.
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

    /// The outcome of a renaming.
    package enum Settlement: Sendable, Equatable {
        /// The file has its final name, now or since before.
        case isNamed
        /// Another file has the name, and the part file still exists.
        case isTaken
        /// Neither name refers to the file.
        case isLost
    }

    /// Renames the file, unless it already has its name. Several processes may call it concurrently: one renames the
    /// file, and the others observe that. The part file is complete, so its lock is not needed.
    /// - Throws: ``CurlewError`` with ``ErrorCode/fileFailed`` or ``ErrorCode/diskFull`` if the file can be neither
    ///   examined nor renamed.
    package func settle() async throws -> Settlement {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(with: Result { try settleNow() }) }
        }
    }

    private func settleNow() throws -> Settlement {
        let source = try FilePlace(part)
        let place = try FilePlace(target)
        guard let folder = try? OpenFolder(source.folder, creates: false) else { return try settledWithoutPart(place) }
        // Another process may rename it at the same moment.
        for _ in 0..<3 {
            guard isIt(folder, source.name) else { return try settledWithoutPart(place) }
            let targetFolder = try OpenFolder(place.folder, creates: false)
            if isIt(targetFolder, place.name) {
                // The file has both names if a file system cannot move without replacing.
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

    /// True if a name refers to the file in its recorded state.
    private func isIt(_ folder: OpenFolder, _ name: String) -> Bool {
        guard folder.status(of: name).map({ $0.st_mode & S_IFMT == S_IFREG }) == true else { return false }
        return (try? FileSnapshot(statusOf: folder.path(of: name), for: .keeping)) == identity
    }
}

/// A part file that is complete and checked.
package struct WholeFile: Sendable {
    private let part: PartFile
    /// The absolute final path.
    package let target: String
    private let existing: Destination.ExistingFile
    private let identity: FileSnapshot

    package init(part: PartFile, target: String, existing: Destination.ExistingFile, identity: FileSnapshot) {
        self.part = part
        self.target = target
        self.existing = existing
        self.identity = identity
    }

    /// The highest number of a candidate name; 0 is the name without a number.
    private var lastCandidate: Int { existing == .unique ? 9999 : 0 }

    private func candidate(_ number: Int) throws -> String {
        guard number > 0 else { return target }
        let place = try FilePlace(target)
        return place.path(of: FileName(place.name).fitted(to: FilePlace.nameLimit, number: number))
    }

    /// Renames the file, after its bytes are on the disk.
    /// - Parameter announce: Called with each name before it is tried; an error ends the renaming.
    /// - Returns: The final path.
    /// - Throws: ``CurlewError``: ``ErrorCode/fileExists``, ``ErrorCode/fileFailed``, ``ErrorCode/diskFull``.
    package func name(_ announce: (PendingName) async throws -> Void) async throws -> String {
        try await part.synchronize()
        for number in 0...lastCandidate {
            let candidate = try candidate(number)
            // Names that are in use are not announced.
            if existing == .unique, access(candidate, F_OK) == 0 { continue }
            let pending = PendingName(
                part: part.path, target: candidate, replaces: existing == .replace, identity: identity)
            try await announce(pending)
            let settlement: PendingName.Settlement
            // The part file is kept: a later settlement needs it.
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
