public import HTTPTypes

/// What a response was like before its body was decoded.
struct EncodedContent: Sendable {
    let codings: [String]
    /// Content-Encoding and Content-Length.
    var fields: HTTPFields

    /// Takes what does not hold for the decoded body out of the fields.
    init(codings: [String], takenFrom fields: inout HTTPFields) {
        self.codings = codings
        self.fields = fields.filter { $0.name == .contentEncoding || $0.name == .contentLength }
        fields[.contentEncoding] = nil
        fields[.contentLength] = nil
    }
}

extension Response {
    private enum EncodedContentKey: Key { static let defaultValue: EncodedContent? = nil }

    /// What was decoded, if it was.
    var encoded: EncodedContent? {
        get { self[EncodedContentKey.self] }
        set { self[EncodedContentKey.self] = newValue }
    }

    /// The content codings that ``ContentDecoding`` has undone, in lower case, in the order in which they had been applied.
    /// Empty if the body is as it came.
    public var contentCodings: [String] { encoded?.codings ?? [] }

    /// The fields that ``ContentDecoding`` took off because they speak of the coded body: Content-Encoding and
    /// Content-Length. Empty if the body is as it came.
    public var encodedFields: HTTPFields { encoded?.fields ?? HTTPFields() }
}
