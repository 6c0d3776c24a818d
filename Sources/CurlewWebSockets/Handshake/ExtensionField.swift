/// An element of Sec-WebSocket-Extensions: the name of an extension and its parameters (RFC 6455 §9.1).
struct ExtensionElement: Hashable {
    /// A parameter. The quotes of a quoted value are removed.
    struct Parameter: Hashable {
        let name: String
        var value: String?
    }

    let name: String
    var parameters: [Parameter] = []

    /// Reads all elements of the field's values in their order; nil if they violate the grammar. Empty elements of the
    /// list are skipped (RFC 9110 §5.6.1.2).
    static func elements(_ values: [String]) -> [ExtensionElement]? {
        var elements: [ExtensionElement] = []
        for value in values {
            var scanner = FieldScanner(value)
            while true {
                scanner.skipSpace()
                if scanner.take(",") { continue }
                guard !scanner.isAtEnd else { break }
                guard let element = ExtensionElement(&scanner) else { return nil }
                elements.append(element)
                guard scanner.isAtEnd || scanner.take(",") else { return nil }
            }
        }
        return elements
    }

    init(name: String, parameters: [Parameter] = []) {
        self.name = name
        self.parameters = parameters
    }

    /// Reads an element and the space after it.
    private init?(_ scanner: inout FieldScanner) {
        guard let name = scanner.token() else { return nil }
        self.init(name: name)
        scanner.skipSpace()
        while scanner.take(";") {
            scanner.skipSpace()
            guard let name = scanner.token() else { return nil }
            var parameter = Parameter(name: name)
            scanner.skipSpace()
            if scanner.take("=") {
                scanner.skipSpace()
                // A value must be a token even after its quotes are removed.
                guard let value = scanner.token() ?? scanner.quotedString(), value.isToken else { return nil }
                parameter.value = value
                scanner.skipSpace()
            }
            parameters.append(parameter)
        }
    }

    /// The text of the element in the field. The values must be tokens.
    var text: String {
        parameters.reduce(name) { text, parameter in
            "\(text); \(parameter.name)" + (parameter.value.map { "=\($0)" } ?? "")
        }
    }
}
