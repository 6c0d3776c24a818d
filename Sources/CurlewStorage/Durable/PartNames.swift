#if Storage || Postgres
internal import Curlew
internal import FoundationEssentials

/// The names that part files of a download have, a claim each.
struct PartNames: Sendable {
    let folder: String
    private let id: DurableTransfer.ID
    private let fence: Int64
    private let request: StoredRequest
    /// The token of the transfer; nil if there is none, or if it is about another file.
    let token: ResumeToken?
    /// So many claims back a file is looked for.
    private static let reach: Int64 = 4096

    /// nil for an upload, and for a download that goes elsewhere than into the folders of the queue.
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
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private static func name(of path: String) -> Substring {
        path.lastIndex(of: "/").map { path[path.index(after: $0)...] } ?? path[...]
    }

    /// The token as the queue has it. Another part, another folder or another origin than those of the transfer is not believed: the bytes would
    /// go there, and so would its secrets.
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

    /// True if a name that the queue has kept is one that a claim of this transfer may have chosen.
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

    /// The part that the token is about, which may be older than those that are looked for.
    private var kept: String? { token.map { String(Self.name(of: $0.partPath)) } }

    /// Removes those of earlier claims, but the one that the token is about.
    func removeEarlier() async {
        let names = (max(1, fence - Self.reach)..<max(1, fence)).map(name)
        await DownloadCustody.removeParts(names.filter { $0 != kept }, in: folder)
    }

    /// Removes all of them. The transfer has ended: whoever writes one still has lost it, and none of them is named any more.
    func removeAll() async {
        var names = (max(1, fence - Self.reach)...max(1, fence)).map(name)
        if let kept { names.append(kept) }
        await DownloadCustody.removeParts(names, in: folder, evenInUse: true)
    }
}
#endif
