import Curlew
import CurlewStorage
import TerminalOutput

/// A transfer as one line, with the reason of its last failure.
struct QueueLine {
    private let name: String
    private let state: String
    private let amount: String
    private let url: String
    private let reason: String?

    /// - Parameter name: The name; nil is the complete identifier.
    init(_ transfer: DurableTransfer, name: String? = nil) {
        self.name = name ?? transfer.id.description
        state = "\(transfer.state)"
        amount =
            transfer.total.map { "\(Units.bytes(transfer.transferred)) of \(Units.bytes($0))" }
            ?? Units.bytes(transfer.transferred)
        url = printable(transfer.request.url)
        reason = transfer.state == .finished ? nil : transfer.lastError.map { printable("\($0.code): \($0.message)") }
    }

    /// The line without a terminal.
    var text: String { "\(name) \(pad(state, 19)) \(amount)  \(url)\(reason.map { "  \($0)" } ?? "")" }

    /// The lines for a terminal: one for the transfer, and indented ones for the reason. Without a width, it is one.
    func lines(width: Int?) -> [String] {
        guard let width else { return [text] }
        let first = "\(name) \(state)  \(amount)  \(url)"
        return [Columns.width(of: first) < width ? first : Columns.prefix(of: first, max(1, width - 2)) + "…"]
            + (reason.map { Columns.wrapped($0, max(20, width - 5)).map { "    \($0)" } } ?? [])
    }
}
