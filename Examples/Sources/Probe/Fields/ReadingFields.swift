internal import Curlew
internal import CurlewImages
internal import CurlewXML
internal import FoundationEssentials

extension Order {
    /// The interpretation of a response's body.
    struct Reading: Sendable {
        /// The serializers in order; nil for an uninterpreted response.
        var formats: [Format]?
        /// True if the first format that succeeds determines the value.
        var isCompound = false
        var removesNulls = false
        var statuses: ResponseAcceptance.Statuses?
        var contentTypes: ResponseAcceptance.ContentTypes?

        enum Format: String, Sendable { case json, plist, xml, text, data, image }
    }
}

extension FieldRule {
    /// The fields about the interpretation and the acceptance of responses.
    static let reading: [FieldRule] = [
        FieldRule("as") { field, order in
            if case .array = field.value {
                let words = try field.strings()
                guard !words.isEmpty else { throw field.wrong("a list with at least one name") }
                order.reading.formats = try words.map { try format($0) }
                order.reading.isCompound = true
            } else {
                order.reading.formats = [try format(try field.string())]
            }
        },
        FieldRule("remove_nulls") { field, order in order.reading.removesNulls = try field.flag() },
        FieldRule("accept_status") { field, order in
            let expectation = "a list of statuses and [first, last]"
            order.reading.statuses = .ranges(
                try field.elements(expectation).map { element in
                    guard case .array = element.value else {
                        let status = try element.count()
                        return status...status
                    }
                    let bounds = try element.elements(expectation).map { try $0.count() }
                    guard bounds.count == 2, bounds[0] <= bounds[1] else { throw field.wrong(expectation) }
                    return bounds[0]...bounds[1]
                })
        },
        FieldRule("accept_types") { field, order in
            order.reading.contentTypes = .types(
                try field.strings().map { text in
                    guard let type = ContentType(text) else { throw field.wrong("a list of media types") }
                    return type
                })
        },
    ]

    private static func format(_ word: String) throws -> Order.Reading.Format {
        guard let format = Order.Reading.Format(rawValue: word) else { throw LineProblem.unsupported("as \(word)") }
        return format
    }
}

extension Order.Reading {
    /// The first field that requires a serializer.
    var fieldForSerializer: String? {
        if statuses != nil { return "accept_status" }
        if contentTypes != nil { return "accept_types" }
        return removesNulls ? "remove_nulls" : nil
    }

    /// The serializer of the value.
    /// - Parameter limit: The maximum number of bytes that are read of a body, whatever its status.
    func serializer(upTo limit: ByteSize) -> (any ResponseSerializer<JSONValue>)? {
        guard let formats else { return nil }
        let serializers = formats.map { serializer($0, limit) }
        guard isCompound else { return serializers.first }
        var compound = ResponseSerializers.Compound(serializers)
        compound.bodyLimit = limit
        return compound
    }

    private func serializer(_ format: Format, _ limit: ByteSize) -> any BodyResponseSerializer<JSONValue> {
        switch format {
        case .json:
            var json = JSONResponseSerializer<Curlew.JSONValue>()
            json.options.removesKeysWithNullValues = removesNulls
            return accepting(json.map { JSONValue($0) }, limit)
        case .plist:
            return accepting(PropertyListResponseSerializer<PropertyListValue>().map { JSONValue($0) }, limit)
        case .xml: return accepting(XMLTreeResponseSerializer().map { JSONValue($0.root) }, limit)
        case .text: return accepting(ResponseSerializers.Text().map { .string($0) }, limit)
        case .data: return accepting(ResponseSerializers.Bytes().map { .base64($0) }, limit)
        case .image:
            return accepting(
                ImageResponseSerializer().map { image in
                    .object([
                        JSONValue.Member("width", .integer(image.size.width)),
                        JSONValue.Member("height", .integer(image.size.height)),
                        JSONValue.Member("rgba", .base64(image.pixels)),
                    ])
                }, limit)
        }
    }

    private func accepting<Serializer: BodyResponseSerializer<JSONValue>>(
        _ serializer: Serializer, _ limit: ByteSize
    ) -> Serializer {
        var serializer = serializer
        if let statuses { serializer.acceptance.statuses = statuses }
        if let contentTypes { serializer.acceptance.contentTypes = contentTypes }
        serializer.acceptance.bodyLimit = limit
        serializer.acceptance.errorBodyLimit = limit
        return serializer
    }
}
