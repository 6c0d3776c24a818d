/// Hands the response over as it came: any status, any media type, its body still a stream.
///
/// It is what calls with parameters bring unless they are told otherwise.
public struct UnreadResponse: ResponseSerializer, ReportingSerializer {
    public init() {}

    public func serialize(_ response: Response) async throws -> Response { response }
}

extension ResponseSerializer where Self == UnreadResponse {
    /// The response as it came.
    public static var unread: UnreadResponse { UnreadResponse() }
}
