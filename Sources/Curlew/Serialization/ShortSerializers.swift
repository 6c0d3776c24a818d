public import FoundationEssentials
internal import HTTPTypes

/// Hands the body's bytes over as they came.
///
/// It takes any media type, an empty body too.
public struct BytesResponseSerializer: BodyResponseSerializer {
    public var acceptance = ResponseAcceptance(.any)

    public init() {}

    public var format: String { "bytes" }

    public func decode(_ response: CollectedResponse) throws -> [UInt8] { response.body }
}

/// Hands the body's bytes over as Foundation's `Data`.
///
/// It takes any media type, an empty body too.
public struct DataResponseSerializer: BodyResponseSerializer {
    public var acceptance = ResponseAcceptance(.any)

    public init() {}

    public var format: String { "bytes" }

    public func decode(_ response: CollectedResponse) throws -> Data { Data(response.body) }
}

/// Checks the status and wants nothing of the body, of whatever type it is.
///
/// The body is read within bounds, so that the connection can serve the next request; beyond them it is dropped.
public struct DiscardingResponseSerializer: ResponseSerializer {
    /// The statuses that are taken, and how much of the body of any other is kept in the error.
    public var acceptance = ResponseAcceptance(.any)

    public init() {}

    public func serialize(_ response: CurlewResponse) async throws {
        if case .refused(let refusal) = try await acceptance.judge(response) { throw refusal.error() }
        await response.discard()
    }
}

/// Makes a value of a response and hands both over: for fields such as Link, ETag and limits.
public struct ValueAndResponseSerializer<Base: BodyResponseSerializer>: ResponseSerializer, ReportingSerializer {
    /// The serializer that makes the value.
    public var base: Base

    public init(_ base: Base) { self.base = base }

    public var acceptField: String? { base.acceptField }

    /// The value and the response. The response's body is what was read of it, and can be read again.
    public func serialize(_ response: CurlewResponse) async throws -> (value: Base.Output, response: CurlewResponse) {
        guard base.acceptance.statuses.contains(response.status) else {
            return (try await base.serialize(response), response)
        }
        let bytes = try await base.acceptance.collect(response).body
        var response = response
        response.body = .bytes(bytes)
        return (try await base.serialize(response), response)
    }
}

/// Writes the body into a file; see ``CurlewResponse/save(to:integrity:)``.
///
/// Its requests ask for `identity`, unless they have an Accept-Encoding of their own, and a content coding that comes all the same stays in the
/// file. ``RequestOptions/decodesContent`` set to true undoes it.
public struct FileResponseSerializer: ResponseSerializer {
    /// The place of the file.
    public var destination: Destination
    /// The properties that the file must have.
    public var integrity: IntegrityRequirement

    public init(_ destination: Destination, integrity: IntegrityRequirement = IntegrityRequirement()) {
        self.destination = destination
        self.integrity = integrity
    }

    public func serialize(_ response: CurlewResponse) async throws -> DownloadedFile {
        try await response.save(to: destination, integrity: integrity)
    }

    /// The request for a body that goes into a file as it comes.
    static func asking(_ request: CurlewRequest) -> CurlewRequest {
        guard request.options.decodesContent != true else { return request }
        var request = request
        request.options.decodesContent = false
        if !request.fields.contains(.acceptEncoding) { request.fields[.acceptEncoding] = "identity" }
        return request
    }
}

extension ResponseSerializer where Self == BytesResponseSerializer {
    /// The body's bytes.
    public static var bytes: BytesResponseSerializer { BytesResponseSerializer() }
}

extension ResponseSerializer where Self == DataResponseSerializer {
    /// The body's bytes as Foundation's `Data`.
    public static var data: DataResponseSerializer { DataResponseSerializer() }
}

extension ResponseSerializer where Self == DiscardingResponseSerializer {
    /// Nothing: the status is checked, the body read and forgotten.
    public static var nothing: DiscardingResponseSerializer { DiscardingResponseSerializer() }
}

extension ResponseSerializer where Self == FileResponseSerializer {
    /// A file with the body in it.
    public static func file(_ destination: Destination, integrity: IntegrityRequirement = IntegrityRequirement())
        -> Self
    {
        FileResponseSerializer(destination, integrity: integrity)
    }
}

extension ResponseSerializer {
    /// A value decoded from JSON, as `as:` with a type brings it, and the response.
    public static func valueAndResponse<Model: Decodable & Sendable>(
        _ type: Model.Type
    ) -> Self where Self == ValueAndResponseSerializer<JSONResponseSerializer<Model>> {
        ValueAndResponseSerializer(.model(type))
    }

    /// The value that another serializer makes, and the response.
    public static func valueAndResponse<Base: BodyResponseSerializer>(
        _ serializer: Base
    ) -> Self where Self == ValueAndResponseSerializer<Base> {
        ValueAndResponseSerializer(serializer)
    }
}
