extension ParameterEncoder {
    /// The style in which the keys of encoded types are named in parameters. The keys of dictionaries are left as they are.
    public struct KeyNaming: Sendable {
        enum Kind: Sendable {
            case asWritten
            case snakeCase
            case custom(@Sendable (String) -> String)
        }

        let kind: Kind

        /// As the type names them.
        public static let asWritten = ParameterEncoder.KeyNaming(kind: .asWritten)

        /// `userName` becomes `user_name`, `baseURLText` becomes `base_url_text`, as Foundation's JSON encoder does it.
        public static let snakeCase = ParameterEncoder.KeyNaming(kind: .snakeCase)

        /// Whatever the closure makes of a key.
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

        /// An underscore goes before each capital that follows a small letter or digit, and before the last of several capitals
        /// that a small letter follows.
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
