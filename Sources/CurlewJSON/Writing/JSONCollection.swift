/// Lists and dictionaries that are written without a container. A container would look up the type of every element.
protocol JSONCollection {
    /// Writes a value of exactly this type.
    static func write<Source>(_ source: Source, to state: JSONEncodingState, _ place: JSONPlace) throws
}

extension Array: JSONCollection where Element: Encodable {
    static func write<Source>(_ source: Source, to state: JSONEncodingState, _ place: JSONPlace) throws {
        // The caller has looked up this conformance by the type of the source.
        let elements = unsafeBitCast(source, to: [Element].self)
        let text = state.text
        guard let serial = text.pointee.open(place, isValue: true, keepsKeys: true),
            text.pointee.become(.list, serial)
        else { return }
        let way = state.way(of: Element.self)
        for element in elements {
            guard text.pointee.beginElement(serial) else { return }
            try state.write(element, way, .index)
        }
        text.pointee.closeValue()
    }
}

extension Dictionary: JSONCollection where Key == String, Value: Encodable {
    static func write<Source>(_ source: Source, to state: JSONEncodingState, _ place: JSONPlace) throws {
        let members = unsafeBitCast(source, to: [String: Value].self)
        let text = state.text
        guard let serial = text.pointee.open(place, isValue: true, keepsKeys: true),
            text.pointee.become(.object, serial)
        else { return }
        let way = state.way(of: Value.self)
        for (key, value) in members {
            guard !text.pointee.isGivenUp else { return }
            text.pointee.beginUniqueMember(key)
            if way.runsCode { text.pointee.push(JSONDictionaryKey(key)) }
            try state.write(value, way, .key)
        }
        text.pointee.closeValue()
    }
}

/// The key of a dictionary on a path. It has the same properties as the standard library's key.
private struct JSONDictionaryKey: CodingKey {
    let stringValue: String

    init(_ key: String) { stringValue = key }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { stringValue = "\(intValue)" }

    var intValue: Int? { Int(stringValue) }
}
