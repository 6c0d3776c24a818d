internal import Curlew

/// A pair as bytes; a name without `=` has no value.
struct PlainPair: Equatable {
    var name: [UInt8]
    var value: [UInt8]?
}

/// A reader of forms that works like servers: it splits at `&`, then at the first `=`, and unescapes the parts.
enum PlainForm {
    static func pairs(of form: String, plusIsSpace: Bool) -> [PlainPair] {
        guard !form.isEmpty else { return [] }
        return form.utf8.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false).map { pair in
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            let decoded = parts.map { unescaped(Array($0), plusIsSpace) }
            return PlainPair(name: decoded[0], value: decoded.count > 1 ? decoded[1] : nil)
        }
    }

    private static func unescaped(_ bytes: [UInt8], _ plusIsSpace: Bool) -> [UInt8] {
        var result: [UInt8] = []
        var rest = bytes[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            {
                result.append(value)
                rest = rest.dropFirst(2)
            } else {
                result.append(plusIsSpace && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
            }
        }
        return result
    }
}
