/// Names of this machine: `localhost` and its subdomains, in any case, with or without a final dot (RFC 6761 §6.3).
///
/// libcurl resolves them to the loopback address without DNS, except names with a final dot. The C library resolves
/// only `localhost`, and only if `/etc/hosts` contains it.
enum LocalName {
    /// True for a name of this machine.
    static func contains(_ host: some StringProtocol) -> Bool {
        var name = Array(host.utf8)[...]
        if name.last == .dot { name.removeLast() }
        guard name.suffix(9).isEqual(ignoringCase: "localhost") else { return false }
        return name.count == 9 || name.dropLast(9).last == .dot
    }

    /// The name without its final dot; another host unchanged.
    static func withoutDot(_ host: String) -> String {
        host.utf8.last == .dot && contains(host) ? String(host.dropLast()) : host
    }
}

extension CurlewURI {
    /// The host without its final dot, if it is a name of this machine with such a dot; else nil.
    var dottedLocalName: String? {
        let last = layout.host.upperBound - 1
        guard text.utf8.withContiguousStorageIfAvailable({ $0[last] == .dot }) ?? true else { return nil }
        let host = self.host
        return LocalName.contains(host) ? String(host.dropLast()) : nil
    }
}
