package import Testing

/// A search for secrets in every text that Swift makes from a value.
package enum SecretCheck {
    package static func expectNone<Value>(
        of secrets: [String], in value: Value, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        var dumped = ""
        dump(value, to: &dumped)
        var wrapped = ""
        dump((value, [value]), to: &wrapped)
        let texts = [
            "\(value)", String(describing: value), String(reflecting: value), "\([value])", "\(Optional(value) as Any)",
            dumped,
            wrapped, "\(Mirror(reflecting: value).children.map { "\($0)" })",
        ]
        for secret in secrets {
            for text in texts {
                #expect(!text.contains(secret), "\(text)", sourceLocation: sourceLocation)
            }
        }
    }
}
