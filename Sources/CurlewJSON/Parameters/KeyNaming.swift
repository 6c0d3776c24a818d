extension ParameterEncoder {
    /// The style of the keys of encoded types. The keys of dictionaries are not changed.
    public struct KeyNaming: Sendable {
        enum Kind: Sendable {
            case asWritten
            case snakeCase
            case custom(@Sendable (String) -> String)
        }

        let kind: Kind

        /// The names in the type, unchanged.
        public static let asWritten = ParameterEncoder.KeyNaming(kind: .asWritten)

        /// Snake case: `userName` becomes `user_name`, `baseURLText` becomes `base_url_text`, as in Foundation's JSON
        /// encoder.
        public static let snakeCase = ParameterEncoder.KeyNaming(kind: .snakeCase)

        /// The result of a closure for each key.
        public static func custom(_ name: @escaping @Sendable (String) -> String) -> ParameterEncoder.KeyNaming {
            ParameterEncoder.KeyNaming(kind: .custom(name))
        }

        var isAsWritten: Bool {
            if case .asWritten = kind { true } else { false }
        }

        func name(of key: some CodingKey) -> String { name(of: key.stringValue) }

        func name(of key: String) -> String {
            switch kind {
            case .asWritten: key
            case .snakeCase: Self.snakeCase(key)
            case .custom(let name): name(key)
            }
        }

        /// The name in snake case. An underscore is inserted before each capital that follows a small letter or digit,
        /// and before the last of several capitals if a small letter follows.
        private static func snakeCase(_ key: String) -> String {
            let characters = Array(key)
            var name = ""
            for (index, character) in characters.enumerated() {
                if index > 0, character.isUppercase, characters[index - 1] != "_" {
                    let followsSmall = !characters[index - 1].isUppercase
                    let precedesSmall = index + 1 < characters.count && characters[index + 1].isLowercase
                    if followsSmall || precedesSmall { name += "_" }
                }
                name += character.lowercased()
            }
            return name
        }
    }
}
