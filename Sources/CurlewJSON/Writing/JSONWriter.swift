internal import CurlewSupport

/// Writes a tree of parameters as JSON into one buffer.
struct JSONWriter {
    private(set) var output: [UInt8] = []
    private let style: JSONCoding.Style
    private let isPretty: Bool
    private var depth = 0

    init(style: JSONCoding.Style) {
        self.style = style
        isPretty = style.options.contains(.prettyPrinted)
    }

    /// The text of a value inside `depth` brackets of another text.
    static func text(of value: ParameterValue, style: JSONCoding.Style, depth: Int) throws(ParameterFailure) -> [UInt8]
    {
        var writer = JSONWriter(style: style)
        writer.depth = depth
        try writer.append(value)
        return writer.output
    }

    /// Writes the top value.
    mutating func write(_ value: ParameterValue) throws(ParameterFailure) {
        switch value {
        case .array, .dictionary, .set: break
        case .null, .boolean, .number, .string, .data, .date:
            guard style.options.contains(.fragmentsAllowed) else {
                throw ParameterFailure("must be a dictionary or a list, unless fragments are allowed")
            }
        }
        try append(value)
    }

    private mutating func append(_ value: ParameterValue) throws(ParameterFailure) {
        switch value {
        case .null: output += "null".utf8
        case .boolean(let value): output += value ? "true".utf8 : "false".utf8
        case .number(let number): try append(number)
        case .string(let text): append(text)
        case .data(let bytes): append(try style.data.text(of: bytes))
        case .date(let date): try append(style.dates.value(of: date))
        case .array(let values): try append(values) { .index($0) }
        case .set(let members): try append(members.inOrder()) { _ in .member }
        case .dictionary(let dictionary): try append(dictionary)
        }
    }

    private mutating func append(_ number: ParameterValue.Number) throws(ParameterFailure) {
        if number.isFinite {
            output += number.description.utf8
        } else {
            append(try style.nonFinite.text(of: number))
        }
    }

    private mutating func append(
        _ values: [ParameterValue], component: (Int) -> ParameterFailure.Component
    ) throws(ParameterFailure) {
        try open(.openBracket)
        for (index, value) in values.enumerated() {
            separate(isFirst: index == 0)
            do { try append(value) } catch { throw error.inside(component(index)) }
        }
        close(.closeBracket, isEmpty: values.isEmpty)
    }

    private mutating func append(_ dictionary: ParameterValue.Object) throws(ParameterFailure) {
        try open(UInt8(ascii: "{"))
        let order = style.options.contains(.sortedKeys) ? dictionary.sortedPositions() : nil
        for place in dictionary.indices {
            let (key, value) = dictionary[order?[place] ?? place]
            separate(isFirst: place == 0)
            append(key)
            output += isPretty ? " : ".utf8 : ":".utf8
            do { try append(value) } catch { throw error.inside(.key(key)) }
        }
        close(UInt8(ascii: "}"), isEmpty: dictionary.isEmpty)
    }

    private mutating func open(_ bracket: UInt8) throws(ParameterFailure) {
        depth += 1
        guard depth <= ParameterValue.depthLimit else { throw .tooDeep }
        output.append(bracket)
    }

    private mutating func close(_ bracket: UInt8, isEmpty: Bool) {
        depth -= 1
        // Foundation writes an empty line inside empty brackets.
        if isPretty, isEmpty { output.append(.lineFeed) }
        breakLine()
        output.append(bracket)
    }

    private mutating func separate(isFirst: Bool) {
        if !isFirst { output.append(UInt8(ascii: ",")) }
        breakLine()
    }

    /// Breaks the line like Foundation.
    private mutating func breakLine() {
        guard isPretty else { return }
        output.append(.lineFeed)
        output.append(contentsOf: repeatElement(.space, count: depth * 2))
    }

    private mutating func append(_ text: String) {
        JSONText.append(text, escapingSlashes: !style.options.contains(.withoutEscapingSlashes), to: &output)
    }
}
