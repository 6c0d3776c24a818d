/// Writes pairs as a query or form: `name=value&name=value`, into one buffer.
struct FormWriter: PairSink {
    private(set) var output: [UInt8] = []
    private let style: ParameterStyle
    private let encoding: PercentEncoding
    private var isFirst = true

    init(style: ParameterStyle) {
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

extension ParameterStyle {
    /// The parameters as a query or form, in ASCII; empty if there is no pair.
    func form(of parameters: ParameterValue) throws(ParameterFailure) -> [UInt8] {
        var walker = PairWalker(style: self, sink: FormWriter(style: self))
        try walker.walk(parameters)
        return walker.sink.output
    }
}
