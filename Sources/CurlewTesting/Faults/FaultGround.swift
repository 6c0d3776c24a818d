#if TestKit
/// The properties of a server that decide which faults can happen there.
struct FaultGround: Sendable {
    let usesTLS: Bool
    let speaksHTTP2: Bool

    /// - Throws: ``TestKitError`` with the reason if `fault` can never happen here, or never at `target`.
    func check(_ fault: Fault, at target: Fault.Target) throws {
        if fault.trigger.isOfConnection && target.isOfExchange {
            throw TestKitError("\(fault): a connection meets it, before there is any exchange")
        }
        if let reason = self.objection(to: fault) { throw TestKitError("\(fault): \(reason)") }
    }

    private func objection(to fault: Fault) -> String? {
        switch fault.effect.kind {
        case .goAway, .resetStream:
            if fault.trigger.isOfConnection { return "there is no exchange yet that it could speak of" }
            return self.speaksHTTP2 ? nil : "HTTP/2 is not spoken here"
        case .truncate:
            if !self.usesTLS { return "there is no TLS here; close does the same" }
            return fault.trigger == .onAccept ? "TLS has not begun; close does the same" : nil
        case .close, .reset, .halfClose, .stall, .garbage:
            return nil
        }
    }
}
#endif
