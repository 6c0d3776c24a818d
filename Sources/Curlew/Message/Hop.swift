public import HTTPTypes

extension CurlewResponse {
    /// A redirect on the way to a response: who answered, and how.
    public struct Redirect: Sendable, Hashable {
        /// The status, one of 301, 302, 303, 307 and 308.
        public var status: HTTPResponse.Status
        /// The URI that answered with the redirect.
        public var uri: CurlewURI
        /// The fields of that answer, Location among them.
        public var fields: HTTPFields
        /// The number of times that the request was sent before it got this answer, the first time included.
        public var attempts: Int

        public init(status: HTTPResponse.Status, uri: CurlewURI, fields: HTTPFields, attempts: Int = 1) {
            self.status = status
            self.uri = uri
            self.fields = fields
            self.attempts = attempts
        }
    }
}
