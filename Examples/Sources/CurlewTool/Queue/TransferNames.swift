import Curlew
import CurlewStorage
import TerminalOutput

/// The names of transfers as people write them: the first digits, as many as tell them apart.
struct TransferNames {
    private static let shortest = 8

    private let ids: [DurableTransfer.ID]

    init(_ session: DurableSession) async throws {
        var ids: [DurableTransfer.ID] = []
        while true {
            let page = try await session.transfers(after: ids.last)
            if page.isEmpty { break }
            ids += page.map(\.id)
        }
        self.ids = ids
    }

    /// The shortest names, at least eight digits long.
    var shortened: [DurableTransfer.ID: String] {
        var length = Self.shortest
        while length < 32, Set(ids.map { $0.description.prefix(length) }).count < ids.count { length += 4 }
        return Dictionary(uniqueKeysWithValues: ids.map { ($0, String($0.description.prefix(length))) })
    }

    /// The transfers of names.
    /// - Throws: ``CurlewError`` for a name that is none, or that several transfers have.
    func resolved(_ names: [String]) throws -> [DurableTransfer.ID] {
        try names.map { name in
            if let id = DurableTransfer.ID(name) { return id }
            let matches = ids.filter { $0.description.hasPrefix(name.lowercased()) }
            guard let id = matches.first, !name.isEmpty else {
                throw CurlewError(.invalidRequest, "there is no transfer \(printable(name))")
            }
            guard matches.count == 1 else {
                throw CurlewError(.invalidRequest, "\(matches.count) transfers begin with \(printable(name))")
            }
            return id
        }
    }
}
