extension DecodingError {
    /// The position and the reason for a message: `items[3].id: expected Int`. Values of the input are omitted, as they
    /// may be secret.
    var reason: String? {
        switch self {
        case .typeMismatch(let type, let context):
            Self.text(context.codingPath, "expected \(type)\(Self.found(context.debugDescription))")
        case .valueNotFound(let type, let context): Self.text(context.codingPath, "expected \(type), found null")
        case .keyNotFound(let key, let context):
            Self.text(context.codingPath + [key], "missing")
        case .dataCorrupted(let context):
            context.codingPath.isEmpty ? nil : Self.text(context.codingPath, "has a value that cannot be used")
        @unknown default: nil
        }
    }

    /// The kind of the value in the input, if Curlew's decoder wrote the description. Other descriptions may quote the
    /// value.
    private static func found(_ description: String) -> String {
        let kinds = ["an object", "an array", "a string", "a number", "a truth value"]
        let kind = kinds.first { description.utf8.elementsEqual("it is \($0)".utf8) }
        return kind.map { ", found \($0)" } ?? ""
    }

    private static func text(_ path: [any CodingKey], _ words: String) -> String {
        var place = ""
        for key in path.prefix(20) {
            if let index = key.intValue {
                place += "[\(index)]"
            } else {
                place += place.isEmpty ? key.stringValue : ".\(key.stringValue)"
            }
        }
        return place.isEmpty ? words : "\(place.prefix(200)): \(words)"
    }
}
