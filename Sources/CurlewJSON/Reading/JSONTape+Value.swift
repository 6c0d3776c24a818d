/// Trees of a tape.
extension JSONTape {
    /// A value with its contents.
    func value(at place: Place = JSONTape.root) -> JSONValue {
        let token = tokens[place]
        switch token.kind {
        case .null: return .null
        case .no: return .bool(false)
        case .yes: return .bool(true)
        case .number: return .number(number(at: place))
        case .string: return .string(string(at: place))
        case .array:
            var values: [JSONValue] = []
            var element = place + 1
            while element < token.next {
                values.append(value(at: element))
                element = tokens.after(element)
            }
            return .array(values)
        case .object: return .object(object(at: place))
        }
    }

    /// The members of an object, each at the first position of its name.
    private func object(at place: Place) -> JSONValue.Object {
        var object = JSONValue.Object()
        var member = place + 1
        let end = tokens[place].next
        while member < end {
            var key = nameString(at: member)
            if !tokens[member].flags.contains(.passedOver) {
                let value = value(at: member + 1)
                if !object.insert(value, for: key) { object[key] = value }
            } else if key.withUTF8({ self.value(of: $0, in: place) }) > member {
                // Of members with the same name one counts, which follows later. A null reserves its position.
                _ = object.insert(.null, for: key)
            }
            member = tokens.after(member + 1)
        }
        return object
    }
}
