internal import CLinux
internal import Glibc

extension OpenFolder {
    /// A way to give a file a name that nothing has. Not every file system knows each.
    enum Move: CaseIterable {
        /// `renameat2` with RENAME_NOREPLACE.
        case rename
        /// A second name, then the first is taken away. A crash in between leaves both.
        case link
        /// An empty file takes the name, and is then replaced. A crash in between leaves it.
        case placeholder
    }

    /// Gives a file of this folder a name in another one, or in the same, and replaces nothing.
    /// - Returns: 0, or why it was not done: `EEXIST` if the name is taken.
    func move(
        _ name: String, to folder: OpenFolder, as newName: String, by ways: [Move] = Move.allCases
    ) -> Int32 {
        var result = ENOTSUP
        for way in ways {
            result = move(name, to: folder, as: newName, by: way)
            guard Self.meansUnsupported(result) else { break }
        }
        return result
    }

    /// Gives a file of this folder a name in another one, or in the same, and replaces what has it.
    func moveReplacing(_ name: String, to folder: OpenFolder, as newName: String) -> Int32 {
        FileCall { renameat(descriptor, name, folder.descriptor, newName) }.errorNumber
    }

    private func move(_ name: String, to folder: OpenFolder, as newName: String, by way: Move) -> Int32 {
        switch way {
        case .rename:
            return FileCall {
                renameat2(
                    descriptor, name, folder.descriptor, newName, UInt32(curlew_rename_no_replace))
            }.errorNumber
        case .link:
            let linked = FileCall { linkat(descriptor, name, folder.descriptor, newName, 0) }
            if linked.errorNumber == 0 { remove(name) }
            return linked.errorNumber
        case .placeholder:
            let placeholder = folder.open(newName, O_WRONLY | O_CREAT | O_EXCL, permissions: 0o600)
            guard placeholder.errorNumber == 0 else { return placeholder.errorNumber }
            close(Int32(placeholder.value))
            let result = moveReplacing(name, to: folder, as: newName)
            if result != 0 { folder.remove(newName) }
            return result
        }
    }

    /// EPERM is what a file system without links says.
    private static func meansUnsupported(_ errorNumber: Int32) -> Bool {
        [EINVAL, ENOSYS, ENOTSUP, EPERM, EMLINK].contains(errorNumber)
    }
}
