/// One name with its value, as ``ParameterStyle/pairs(of:)`` makes them: nothing is escaped.
public struct ParameterPair: Sendable, Hashable {
    /// The whole name, such as `user[name]`.
    public var name: String
    /// The value; never a dictionary, array or set.
    public var value: ParameterValue

    public init(_ name: String, _ value: ParameterValue) {
        self.name = name
        self.value = value
    }
}

extension ParameterStyle {
    /// The pairs of a tree in their order, for serializers that put them somewhere else than in a query or form.
    ///
    /// Values keep their kind, so that data can be sent as bytes; `text(of:)` has the text of one. A list in the style
    /// ``ArrayStyle/commas`` is one text.
    /// - Throws: ``CurlewError`` with ``ErrorCode/encodingFailed``: the parameters are no dictionary, or too deep.
    public func pairs(of parameters: ParameterValue) throws -> [ParameterPair] {
        var walker = PairWalker(style: self, sink: PairCollector(style: self))
        do throws(ParameterFailure) { try walker.walk(parameters) } catch { throw error.error }
        return walker.sink.pairs
    }

    /// The text of a pair's value in this style; nil for null.
    /// - Throws: ``CurlewError`` with ``ErrorCode/encodingFailed`` for what cannot be written.
    public func text(of pair: ParameterPair) throws -> String? {
        do throws(ParameterFailure) { return try text(of: pair.value) } catch {
            throw error.inside(.key(pair.name)).error
        }
    }

    /// The parameters as a query or form: escaped, in ASCII, empty if there is no pair.
    /// - Throws: ``CurlewError`` with ``ErrorCode/encodingFailed`` for what cannot be written.
    public func form(_ parameters: ParameterValue) throws -> String {
        do throws(ParameterFailure) { return String(decoding: try form(of: parameters), as: UTF8.self) } catch {
            throw error.error
        }
    }
}

/// Gathers pairs.
private struct PairCollector: PairSink {
    let style: ParameterStyle
    var pairs: [ParameterPair] = []

    init(style: ParameterStyle) { self.style = style }

    mutating func take(_ name: [UInt8], _ value: ParameterValue) throws(ParameterFailure) {
        pairs.append(ParameterPair(String(decoding: name, as: UTF8.self), value))
    }

    mutating func take(_ name: [UInt8], list: [ParameterValue]) throws(ParameterFailure) {
        pairs.append(ParameterPair(String(decoding: name, as: UTF8.self), .string(try style.text(of: list))))
    }
}
