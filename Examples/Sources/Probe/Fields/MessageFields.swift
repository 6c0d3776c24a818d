extension FieldRule {
    /// The fields about the message.
    static let message: [FieldRule] = [
        FieldRule("method") { field, order in order.method = try field.string() },
        FieldRule("url") { field, order in order.url = try field.string() },
        FieldRule("base") { field, order in order.base = try field.string() },
        FieldRule("headers") { field, order in order.fields = try field.rawFields() },
        FieldRule("body") { field, order in try order.setBody(.bytes(try field.bytes())) },
        FieldRule("body_file") { field, order in try order.setBody(.file(try field.string())) },
        FieldRule("chunked") { field, order in order.isChunked = try field.flag() },
        FieldRule("trailers") { field, order in order.trailers = try field.rawFields() },
    ]
}

extension Order {
    fileprivate mutating func setBody(_ body: Body) throws {
        guard self.body == nil else { throw LineProblem.unusable("there are both body and body_file") }
        self.body = body
    }
}
