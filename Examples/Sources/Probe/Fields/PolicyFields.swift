internal import Curlew

extension FieldRule {
    /// What stands between the caller and the exchange.
    ///
    /// Nothing follows redirects yet. `manual` is what the library does; `follow`, `error` and `max_redirects` matter
    /// only once a redirect comes, and then the answer is a skip (``AnswerCheck``). Cookies are neither sent nor
    /// stored: `false` is met; otherwise what comes after a `Set-Cookie` is skipped (``SupportCheck``).
    static let policy: [FieldRule] = [
        FieldRule("redirect") { field, order in
            let word = try field.string()
            guard let redirect = Order.Redirect(rawValue: word) else {
                throw LineProblem.unsupported("redirect \(word)")
            }
            order.redirect = redirect
        },
        FieldRule("max_redirects") { field, _ in _ = try field.count() },
        .word("cache", always: "default", "no-store"),
        FieldRule("cookies") { field, order in order.usesCookies = try field.flag() },
        FieldRule("decode") { field, order in order.decodes = try field.flag() },
        .unsupported("auth"),
    ]

    /// What is about one response, read to its end.
    static let collecting: [FieldRule] = [
        FieldRule("retry") { field, _ in
            guard let attempts = field.value["attempts"], case .object(let members) = field.value, members.count == 1
            else { throw field.wrong("an object with attempts alone") }
            guard try FieldValue(.init("retry.attempts", attempts)).count() == 1 else {
                throw LineProblem.unsupported("field retry")
            }
        },
        FieldRule("max_body") { field, order in order.bodyLimit = ByteCount(try field.count()) },
    ]
}
