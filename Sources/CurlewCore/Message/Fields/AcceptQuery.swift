internal import HTTPTypes
internal import RawStructuredFieldValues

extension CurlewResponse {
    /// The media ranges that the resource accepts in queries, from its Accept-Query fields (RFC 10008 §3): types with
    /// their parameters, `*/*`, or a type with any subtype such as `application/*`. Their order has no meaning.
    ///
    /// nil without the field, and for a value that is not a list of such ranges: a single invalid member makes a
    /// structured field invalid (RFC 9651 §4.2).
    ///
    /// ```swift
    /// let response = try await api.head("contacts")
    /// if response.acceptedQueryTypes?.contains(where: { ContentType.json.matches($0) }) == true {
    ///     let contacts = try await api.query("contacts", .json(["limit": 10]), as: [String].self)
    ///     print(contacts)
    /// }
    /// ```
    public var acceptedQueryTypes: [ContentType]? {
        guard fields.contains(.acceptQuery) else { return nil }
        let values = fields.filter { $0.name == .acceptQuery }.map { $0.withUnsafeBytesOfValue { Array($0) } }
        var parser = StructuredFieldValueParser(Array(values.joined(separator: [.comma])))
        guard let members = try? parser.parseListFieldValue() else { return nil }
        var types: [ContentType] = []
        for member in members {
            guard case .item(let item) = member, let type = ContentType(queryRange: item) else { return nil }
            types.append(type)
        }
        return types
    }
}

extension ContentType {
    /// A media range from a token or a string, with its parameters.
    fileprivate init?(queryRange item: Item) {
        guard let text = item.rfc9651BareItem.tokenOrString else { return nil }
        let parts = text.utf8.split(separator: .slash, omittingEmptySubsequences: false)
        let star = [UInt8(ascii: "*")]
        guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy(\.isTokenByte) }),
            !parts[0].elementsEqual(star) || parts[1].elementsEqual(star)
        else { return nil }
        var parameters: [Parameter] = []
        for (name, value) in item.rfc9651Parameters {
            guard let value = value.tokenOrString else { return nil }
            parameters.append(Parameter(name, value))
        }
        let names = parts.map { String(decoding: $0, as: UTF8.self) }
        self.init(names[0], names[1], parameters: parameters)
    }
}

extension RFC9651BareItem {
    /// The text of a token or a string; both have the same meaning here.
    fileprivate var tokenOrString: String? {
        switch self {
        case .token(let text), .string(let text): text
        default: nil
        }
    }
}
