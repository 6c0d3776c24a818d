/// Hands the body's bytes over as they came.
///
/// It takes any media type, an empty body too.
public struct DataResponseSerializer: BodyResponseSerializer {
    public var acceptance = ResponseAcceptance(.any)

    public init() {}

    public var format: String { "bytes" }

    public func decode(_ response: CollectedResponse) throws -> [UInt8] { response.body }
}

extension ResponseSerializer where Self == DataResponseSerializer {
    /// The body's bytes.
    public static var data: DataResponseSerializer { DataResponseSerializer() }
}
