extension ParameterStyle {
    /// The text of a value that is no dictionary, array or set; null has none.
    func text(of value: ParameterValue) throws(ParameterFailure) -> String? {
        switch value {
        case .null: return nil
        case .string(let text): return text
        case .boolean(let value):
            switch booleans.kind {
            case .numeric: return value ? "1" : "0"
            case .literal: return value ? "true" : "false"
            }
        case .number(let number):
            return number.isFinite ? number.description : try nonFinite.text(of: number)
        case .data(let bytes): return try data.text(of: bytes)
        case .date(let date): return try text(of: dates.value(of: date))
        case .array, .dictionary, .set: throw ParameterFailure("is a tree where a single value is needed")
        }
    }

    /// The text of members with commas between them.
    func text(of list: [ParameterValue]) throws(ParameterFailure) -> String {
        var text = ""
        for (index, value) in list.enumerated() {
            if index > 0 { text += "," }
            do { text += try self.text(of: value) ?? "" } catch { throw error.inside(.index(index)) }
        }
        return text
    }
}
