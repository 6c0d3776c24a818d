#if Storage
internal import Curlew
internal import FoundationEssentials

/// The names that part files of a download have, a claim each.
struct PartNames: Sendable {
    let folder: String
    private let id: DurableTransfer.ID
    private let fence: Int64
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

    func removeEarlier(except path: String?) async {
        let names = (max(1, fence - Self.reach)..<max(1, fence)).map(name)
        let kept = path.map { String($0[($0.lastIndex(of: "/").map { path!.index(after: $0) } ?? $0.startIndex)...]) }
        await DownloadCustody.removeParts(names.filter { $0 != kept }, in: folder)
    }

    /// Removes all of them. The transfer has ended: whoever writes one still has lost it, and none of them is named any more.
    func removeAll() async {
        await DownloadCustody.removeParts(
            (max(1, fence - Self.reach)...max(1, fence)).map(name), in: folder, evenInUse: true)
    }
}
#endif
