#if Storage || Postgres
internal import Curlew
internal import FoundationEssentials

/// The names that part files of a download have, a claim each.
struct PartNames: Sendable {
    let folder: String
    private let id: DurableTransfer.ID
    private let fence: Int64
    /// The part that the token is about, which may be older than those that are looked for.
    private let kept: String?
    /// So many claims back a file is looked for.
    private static let reach: Int64 = 4096

    /// nil for an upload.
    init?(_ transfer: StoredTransfer) {
        guard let stored = try? JSONDecoder().decode(StoredRequest.self, from: Data(transfer.request)),
            let path = stored.destination
        else { return nil }
        folder = stored.isFolder == true ? path : path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        id = transfer.id
        fence = transfer.fence
        kept = Self.token(of: transfer).flatMap { $0.partPath.split(separator: "/").last.map(String.init) }
    }

    /// The token of a transfer; nil if there is none, or its part is another transfer's.
    static func token(of transfer: StoredTransfer) -> ResumeToken? {
        guard let bytes = transfer.token,
            let token = try? JSONDecoder().decode(ResumeToken.self, from: Data(bytes)),
            token.partPath.split(separator: "/").last?.hasPrefix(prefix(transfer.id)) == true
        else { return nil }
        return token
    }

    private static func prefix(_ id: DurableTransfer.ID) -> String { ".curlew-\(id)-" }

    private func name(_ fence: Int64) -> String { "\(Self.prefix(id))\(fence).part" }

    var current: String { name(fence) }

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
