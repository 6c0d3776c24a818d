extension RequestParameters.Style {
    /// A name with its value, as ``RequestParameters/Style/pairs(of:)`` returns it, without escaping.
    public struct Pair: Sendable, Hashable {
        /// The complete name, such as `user[name]`.
        public var name: String
        /// The value; never a dictionary, array or set.
        public var value: ParameterValue

        public init(_ name: String, _ value: ParameterValue) {
            self.name = name
            self.value = value
        }
    }
}

extension RequestParameters.Style {
    /// The pairs of a tree in order, for serializers that do not write a query or form.
    ///
    /// Values keep their kind, so that data can be sent as bytes; `text(of:)` returns the text of a pair. A list in the
    /// style ``RequestParameters/Style/ArrayStyle/commas`` is a single text.
    /// - Throws: ``CurlewError`` with ``ErrorCode/encodingFailed`` if the parameters are not a dictionary, or too deep.
    public func pairs(of parameters: ParameterValue) throws -> [RequestParameters.Style.Pair] {
        var walker = PairWalker(style: self, sink: PairCollector(style: self))
        do throws(ParameterFailure) { try walker.walk(parameters) } catch { throw error.curlewError }
        return walker.sink.pairs
    }

    /// The text of a pair's value in this style; nil for null.
    /// - Throws: ``CurlewError`` with ``ErrorCode/encodingFailed`` for a value that cannot be written.
    public func text(of pair: RequestParameters.Style.Pair) throws -> String? {
        do throws(ParameterFailure) { return try text(of: pair.value) } catch {
            throw error.inside(.key(pair.name)).curlewError
        }
    }

    /// The parameters as a query or form: escaped, in ASCII, empty without pairs.
    /// - Throws: ``CurlewError`` with ``ErrorCode/encodingFailed`` for a value that cannot be written.
    public func form(_ parameters: ParameterValue) throws -> String {
        do throws(ParameterFailure) { return String(decoding: try form(of: parameters), as: UTF8.self) } catch {
            throw error.curlewError
        }
    }
}

/// Collects pairs.
private struct PairCollector: PairSink {
    let style: RequestParameters.Style
    var pairs: [RequestParameters.Style.Pair] = []

    init(style: RequestParameters.Style) { self.style = style }

    mutating func take(_ name: [UInt8], _ value: ParameterValue) throws(ParameterFailure) {
        pairs.append(RequestParameters.Style.Pair(String(decoding: name, as: UTF8.self), value))
    }

    mutating func take(_ name: [UInt8], list: [ParameterValue]) throws(ParameterFailure) {
        pairs.append(
            RequestParameters.Style.Pair(String(decoding: name, as: UTF8.self), .string(try style.text(of: list))))
    }
}

/// A receiver of the pairs of a ``PairWalker``.
protocol PairSink {
    /// Receives a pair. `name` is unescaped UTF-8; the value is not a dictionary, array or set.
    mutating func take(_ name: [UInt8], _ value: ParameterValue) throws(ParameterFailure)

    /// Receives a pair whose value is a list of such values (``RequestParameters/Style/ArrayStyle/commas``).
    mutating func take(_ name: [UInt8], list: [ParameterValue]) throws(ParameterFailure)
}

/// Traverses a tree of parameters and names its leaves. The time is linear in the output, except for sorting.
///
/// One buffer holds the name: each level appends its part and removes it again.
struct PairWalker<Sink: PairSink> {
    let style: RequestParameters.Style
    var sink: Sink
    private var name: [UInt8] = []
    private var depth = 0

    init(style: RequestParameters.Style, sink: Sink) {
        self.style = style
        self.sink = sink
    }

    /// - Throws: ``ParameterFailure`` if the top is not a dictionary, or a value cannot be written.
    mutating func walk(_ parameters: ParameterValue) throws(ParameterFailure) {
        guard case .dictionary(let dictionary) = parameters else {
            throw ParameterFailure("must be a dictionary here: there is no name for anything else")
        }
        try walk(dictionary)
    }

    private mutating func visit(_ value: ParameterValue) throws(ParameterFailure) {
        switch value {
        case .dictionary(let dictionary): try walk(dictionary)
        case .array(let values):
            if style.arrays == .commas { try takeList(values) } else { try walk(values) }
        case .set(let members): try walk(members)
        case .null:
            if style.nulls != .dropped { try sink.take(name, value) }
        case .boolean, .number, .string, .data, .date: try sink.take(name, value)
        }
    }

    private mutating func walk(_ dictionary: ParameterValue.Object) throws(ParameterFailure) {
        try enter()
        let order = style.keyOrder == .sorted ? dictionary.sortedPositions() : nil
        for place in dictionary.indices {
            let (key, value) = dictionary[order?[place] ?? place]
            let length = name.count
            append(key)
            do { try visit(value) } catch { throw error.inside(.key(key)) }
            name.removeLast(name.count - length)
        }
        depth -= 1
    }

    private mutating func walk(_ values: [ParameterValue]) throws(ParameterFailure) {
        try enter()
        for (index, value) in values.enumerated() {
            let length = name.count
            switch style.arrays.kind {
            case .brackets:
                name.append(.openBracket)
                name.append(.closeBracket)
            case .indexed: append(index)
            case .repeated, .commas: break
            }
            do { try visit(value) } catch { throw error.inside(.index(index)) }
            name.removeLast(name.count - length)
        }
        depth -= 1
    }

    /// Visits the members of a set, which all have the set's own name.
    private mutating func walk(_ members: Set<ParameterValue>) throws(ParameterFailure) {
        try enter()
        for member in members.inOrder() {
            do { try visit(member) } catch { throw error.inside(.member) }
        }
        depth -= 1
    }

    private mutating func takeList(_ values: [ParameterValue]) throws(ParameterFailure) {
        for (index, value) in values.enumerated() {
            switch value {
            case .dictionary, .array, .set:
                throw ParameterFailure("is a tree, and a list with commas has room for single values only")
                    .inside(.index(index))
            case .null, .boolean, .number, .string, .data, .date: break
            }
        }
        let kept = style.nulls == .dropped ? values.filter { $0 != .null } : values
        if !kept.isEmpty { try sink.take(name, list: kept) }
    }

    private mutating func enter() throws(ParameterFailure) {
        depth += 1
        guard depth <= ParameterValue.depthLimit else { throw .tooDeep }
    }

    private mutating func append(_ key: String) {
        guard depth > 1 else { return name.append(contentsOf: key.utf8) }
        switch style.nesting.kind {
        case .brackets:
            name.append(.openBracket)
            name.append(contentsOf: key.utf8)
            name.append(.closeBracket)
        case .dots:
            name.append(UInt8(ascii: "."))
            name.append(contentsOf: key.utf8)
        }
    }

    private mutating func append(_ index: Int) {
        name.append(.openBracket)
        name.append(contentsOf: String(index).utf8)
        name.append(.closeBracket)
    }
}
