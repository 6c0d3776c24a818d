/// The form of host names in the stores of origins.
enum OriginHost {
    /// The name in lower case, without a final dot; nil for an address and for an invalid name. In a URI, names outside
    /// ASCII already have their ASCII form.
    static func name(_ host: some StringProtocol) -> String? {
        var name = host.lowercased()
        if name.hasSuffix(".") { name.removeLast() }
        guard (1...253).contains(name.utf8.count), IPAddress(host: name) == nil else { return nil }
        let labels = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard labels.allSatisfy({ !$0.isEmpty && $0.allSatisfy(isPlain) }) else { return nil }
        return name
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        byte.isLetter || byte.isDigit || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }
}
