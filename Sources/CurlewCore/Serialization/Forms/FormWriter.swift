/// Writes pairs as a query or form, `name=value&name=value`, into one buffer.
private struct FormWriter: PairSink {
    private(set) var output: [UInt8] = []
    private let style: RequestParameters.Style
    private let encoding: PercentEncoding
    private var isFirst = true

    init(style: RequestParameters.Style) {
        self.style = style
        encoding = PercentEncoding(spaces: style.spaces)
    }

    mutating func take(_ name: [UInt8], _ value: ParameterValue) throws(ParameterFailure) {
        begin(name)
        if let text = try style.text(of: value) {
            output.append(UInt8(ascii: "="))
            encoding.append(text, to: &output)
        } else if style.nulls == .empty {
            output.append(UInt8(ascii: "="))
        }
    }

    mutating func take(_ name: [UInt8], list: [ParameterValue]) throws(ParameterFailure) {
        begin(name)
        for (index, value) in list.enumerated() {
            output.append(index == 0 ? UInt8(ascii: "=") : UInt8(ascii: ","))
            do {
                encoding.append(try style.text(of: value) ?? "", to: &output)
            } catch { throw error.inside(.index(index)) }
        }
    }

    private mutating func begin(_ name: [UInt8]) {
        if !isFirst { output.append(UInt8(ascii: "&")) }
        isFirst = false
        encoding.append(name, to: &output)
    }
}

extension RequestParameters.Style {
    /// The parameters as a query or form, in ASCII; empty if there is no pair.
    func form(of parameters: ParameterValue) throws(ParameterFailure) -> [UInt8] {
        var walker = PairWalker(style: self, sink: FormWriter(style: self))
        try walker.walk(parameters)
        return walker.sink.output
    }
}

/// The escaping of names and values: letters, digits and `-._~/?` stay, every other UTF-8 byte becomes `%XX`.
struct PercentEncoding {
    let spaces: RequestParameters.Style.SpaceStyle

    func append(_ string: String, to output: inout [UInt8]) {
        var string = string
        string.withUTF8 { append($0, to: &output) }
    }

    func append(_ bytes: [UInt8], to output: inout [UInt8]) {
        bytes.withUnsafeBufferPointer { append($0, to: &output) }
    }

    /// Appends bytes; runs of unescaped bytes are appended together.
    private func append(_ bytes: UnsafeBufferPointer<UInt8>, to output: inout [UInt8]) {
        var start = 0
        for (position, byte) in bytes.enumerated() where !Self.isKept(byte) {
            if start < position { output.append(contentsOf: bytes[start..<position]) }
            start = position + 1
            if byte == .space, spaces == .plus {
                output.append(UInt8(ascii: "+"))
            } else {
                Self.appendEscaped(byte, to: &output)
            }
        }
        if start < bytes.count { output.append(contentsOf: bytes[start...]) }
    }

    static func appendEscaped(_ byte: UInt8, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "%"))
        output.append(hexadecimalDigit(byte >> 4))
        output.append(hexadecimalDigit(byte & 15))
    }

    private static func hexadecimalDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }

    /// True if a byte is not escaped. The mask has a bit for each ASCII character: `-./0123456789?` in the lower half,
    /// letters, `_` and `~` in the upper.
    static func isKept(_ byte: UInt8) -> Bool {
        guard byte < 0x80 else { return false }
        let mask: UInt64 = byte < 64 ? 0x83FF_E000_0000_0000 : 0x47FF_FFFE_87FF_FFFE
        return mask >> (byte & 63) & 1 == 1
    }
}

extension CurlewURI {
    /// The URI with an extended query: the addition follows `?`, or `&` if there is a query. A fragment stays at the
    /// end.
    ///
    /// There is exactly one separator: a query that is empty or ends in `&` gets no further one, and separators at the
    /// beginning of the addition are removed. An empty addition leaves the URI unchanged.
    ///
    /// Spaces, non-ASCII text and the characters `" < > \ ^ ` { | } #` are percent-encoded; other characters are added
    /// unchanged.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidURL`` for a control character.
    public func appending(query: String) throws -> CurlewURI { try appending(query: Array(query.utf8)) }

    func appending(query: [UInt8]) throws -> CurlewURI {
        let added = query.drop { $0 == UInt8(ascii: "&") }
        guard !added.isEmpty else { return self }
        let old = Array(text.utf8)
        var new = Array(old[..<layout.queryEnd])
        new.reserveCapacity(old.count + added.count + 1)
        if layout.queryEnd == layout.pathEnd {
            new.append(.questionMark)
        } else if layout.queryEnd > layout.pathEnd + 1, new.last != UInt8(ascii: "&") {
            new.append(UInt8(ascii: "&"))
        }
        for byte in added {
            switch byte {
            case 0x00...0x1F, 0x7F: throw CurlewError(.invalidURL, "the query holds a control character")
            case .space, .numberSign, UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\\"),
                UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "|"), UInt8(ascii: "}"), 0x80...:
                PercentEncoding.appendEscaped(byte, to: &new)
            default: new.append(byte)
            }
        }
        var moved = layout
        moved.queryEnd = new.count
        new += old[layout.queryEnd...]
        return CurlewURI(text: String(decoding: new, as: UTF8.self), layout: moved, userInformation: userInformation)
    }
}
