internal import Curlew

extension FieldRule {
    /// The fields about policies between the caller and the exchange.
    static let policy: [FieldRule] = [
        FieldRule("redirect") { field, order in
            let word = try field.string()
            guard let redirect = Order.Redirect(rawValue: word) else {
                throw LineProblem.unsupported("redirect \(word)")
            }
            order.redirect = redirect
        },
        FieldRule("max_redirects") { field, order in order.redirectLimit = try field.count() },
        FieldRule("cookies") { field, order in order.options.usesCookies = try field.flag() },
        FieldRule("decode") { field, order in order.options.decodesContent = try field.flag() },
        FieldRule("auth") { field, order in order.credentials = try Credentials(field) },
        FieldRule("cache_mode") { field, order in
            order.cacheMode = try field.choice([
                "single-user": HTTPCache.Mode.singleUser, "private": .private, "shared": .shared,
            ])
        },
    ]

    /// The fields about a single response that is read to its end.
    static let collecting: [FieldRule] = [
        FieldRule("cache") { field, order in
            let word = try field.string()
            guard let policy = HTTPCache.Policy(word) else { throw LineProblem.unsupported("cache \(word)") }
            order.options.cachePolicy = policy
        },
        FieldRule("retry") { field, order in
            guard let attempts = field.value["attempts"], case .object(let members) = field.value, members.count == 1
            else { throw field.wrong("an object with attempts alone") }
            let number = try FieldValue(.init("retry.attempts", attempts)).count()
            guard number > 0 else { throw field.wrong("at least one attempt") }
            order.options.maximumAttempts = number
        },
        FieldRule("max_body") { field, order in order.bodyLimit = ByteSize(try field.count()) },
    ]
}
