#if Storage || Postgres
internal import Curlew
internal import FoundationEssentials

/// The names of a download's part files, one for each claim.
struct PartNames: Sendable {
    let folder: String
    private let id: DurableTransfer.ID
    private let fence: Int64
    private let request: StoredRequest
    /// The resume token of the transfer; nil if there is none, or if it belongs to another file.
    let token: ResumeToken?
    /// The number of earlier claims whose part files are searched.
    private static let reach: Int64 = 4096

    /// Reads the names of a transfer; nil for an upload, and for a download to a folder outside those of the queue.
    init?(_ transfer: StoredTransfer, in folders: TransferFolders) {
        guard let stored = try? JSONDecoder().decode(StoredRequest.self, from: Data(transfer.request)),
            let path = stored.destination
        else { return nil }
        folder = stored.isFolder == true ? path : Self.folder(of: path)
        guard folders.contains(folder) else { return nil }
        id = transfer.id
        fence = transfer.fence
        request = stored
        token = Self.token(of: transfer, stored, in: folder)
    }

    private static func folder(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private static func name(of path: String) -> Substring {
        path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path[path.utf8.index(after: $0)...] } ?? path[...]
    }

    /// The token from the queue. A token with another part file, folder or origin than the transfer's is rejected:
    /// otherwise bytes and secrets could be sent to another place.
    private static func token(of transfer: StoredTransfer, _ request: StoredRequest, in folder: String) -> ResumeToken?
    {
        guard let bytes = transfer.token,
            let token = try? JSONDecoder().decode(ResumeToken.self, from: Data(bytes)),
            name(of: token.partPath).utf8.starts(with: prefix(transfer.id).utf8),
            TransferFolders.isSame(Self.folder(of: token.partPath), folder),
            let uri = try? CurlewURI(request.url),
            token.uri.origin.utf8.elementsEqual(uri.origin.utf8)
        else { return nil }
        return token
    }

    /// True if a stored final name is one that a claim of this transfer can have chosen.
    func mayBecome(_ pending: PendingName) -> Bool {
        let (target, existing) = (Self.name(of: pending.target), request.existing ?? .fail)
        let hasName =
            request.isFolder == true || existing == .unique
            || target.utf8.elementsEqual(Self.name(of: request.destination ?? "").utf8)
        return hasName && !target.isEmpty && pending.replaces == (existing == .replace)
            && Self.name(of: pending.part).utf8.starts(with: Self.prefix(id).utf8)
            && TransferFolders.isSame(Self.folder(of: pending.target), folder)
            && TransferFolders.isSame(Self.folder(of: pending.part), folder)
    }

    private static func prefix(_ id: DurableTransfer.ID) -> String { ".curlew-\(id)-" }

    private func name(_ fence: Int64) -> String { "\(Self.prefix(id))\(fence).part" }

    var current: String { name(fence) }

    /// The part file of the token, which may be older than the searched ones.
    private var kept: String? { token.map { String(Self.name(of: $0.partPath)) } }

    /// Removes the part files of earlier claims, except that of the token.
    func removeEarlier() async {
        let names = (max(1, fence - Self.reach)..<max(1, fence)).map(name)
        await DownloadCustody.removeParts(names.filter { $0 != kept }, in: folder)
    }

    /// Removes all part files. The transfer has ended, so a worker that still writes one has lost its claim, and none
    /// of the files will be used.
    func removeAll() async {
        var names = (max(1, fence - Self.reach)...max(1, fence)).map(name)
        if let kept { names.append(kept) }
        await DownloadCustody.removeParts(names, in: folder, evenInUse: true)
    }
}
#endif
