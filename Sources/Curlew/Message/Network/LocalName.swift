/// Names of this machine: `localhost` and all below it, in any case, with a dot at the end or without (RFC 6761 §6.3).
///
/// libcurl takes them for the loopback without DNS, but for those with the dot. The C library takes `localhost` alone, if `/etc/hosts`
/// has it.
enum LocalName {
    /// True for a name of this machine.
    static func contains(_ host: some StringProtocol) -> Bool {
        var name = Array(host.utf8)[...]
        if name.last == .dot { name.removeLast() }
        guard name.suffix(9).isEqual(ignoringCase: "localhost") else { return false }
        return name.count == 9 || name.dropLast(9).last == .dot
    }

    /// The name without the dot at its end; another host as it is.
    static func withoutDot(_ host: String) -> String {
        host.utf8.last == .dot && contains(host) ? String(host.dropLast()) : host
    }
}

extension CurlewURI {
    /// The host without the dot at its end, if it is a name of this machine that has one.
    var dottedLocalName: String? {
        let last = layout.host.upperBound - 1
        guard text.utf8.withContiguousStorageIfAvailable({ $0[last] == .dot }) ?? true else { return nil }
        let host = self.host
        return LocalName.contains(host) ? String(host.dropLast()) : nil
    }
}
