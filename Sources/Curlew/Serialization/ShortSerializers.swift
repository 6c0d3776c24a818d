public import FoundationEssentials
internal import HTTPTypes

/// The serializers that have short names: `.bytes`, `.data`, `.nothing`, `.file(…)`, `.raw`, `.text`, `.valueAndResponse(…)`, and those that
/// other serializers are made of.
///
/// ``JSONResponseSerializer`` and ``PropertyListResponseSerializer`` have many settings, and stand by themselves.
public enum ResponseSerializers {}

extension ResponseSerializers {
    /// Hands the body's bytes over as they came.
    ///
    /// It takes any media type, an empty body too.
    public struct Bytes: BodyResponseSerializer {
        public var acceptance = ResponseAcceptance(.any)

        public init() {}

        public var format: String { "bytes" }

        public func decode(_ response: CurlewResponse.Collected) throws -> [UInt8] { response.body }
    }
}

extension ResponseSerializers {
    /// Hands the body's bytes over as Foundation's `Data`.
    ///
    /// It takes any media type, an empty body too.
    public struct FoundationData: BodyResponseSerializer {
        public var acceptance = ResponseAcceptance(.any)

        public init() {}

        public var format: String { "bytes" }

        public func decode(_ response: CurlewResponse.Collected) throws -> Data { Data(response.body) }
    }
}

extension ResponseSerializers {
    /// Checks the status and wants nothing of the body, of whatever type it is.
    ///
    /// The body is read within bounds, so that the connection can serve the next request; beyond them it is dropped.
    public struct Nothing: ResponseSerializer {
        /// The statuses that are taken, and how much of the body of any other is kept in the error.
        public var acceptance = ResponseAcceptance(.any)

        public init() {}

        public func serialize(_ response: CurlewResponse) async throws {
            if case .refused(let refusal) = try await acceptance.judge(response) { throw refusal.error() }
            await response.discard()
        }
    }
}

extension ResponseSerializers {
    /// Makes a value of a response and hands both over: for fields such as Link, ETag and limits.
    public struct ValueAndResponse<Base: BodyResponseSerializer>: ResponseSerializer, ReportingSerializer {
        /// The serializer that makes the value.
        public var base: Base

        public init(_ base: Base) { self.base = base }

        public var acceptField: String? { base.acceptField }

        /// The value and the response. The response's body is what was read of it, and can be read again.
        public func serialize(_ response: CurlewResponse) async throws -> (value: Base.Output, response: CurlewResponse)
        {
            guard base.acceptance.statuses.contains(response.status) else {
                return (try await base.serialize(response), response)
            }
            let bytes = try await base.acceptance.collect(response).body
            var response = response
            response.body = .bytes(bytes)
            return (try await base.serialize(response), response)
        }
    }
}

extension ResponseSerializers {
    /// Writes the body into a file; see ``CurlewResponse/save(to:integrity:)``.
    ///
    /// Its requests ask for `identity`, unless they have an Accept-Encoding of their own, and a content coding that comes all the same stays in the
    /// file. ``RequestOptions/decodesContent`` set to true undoes it.
    public struct File: ResponseSerializer {
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
}

extension ResponseSerializer where Self == ResponseSerializers.Bytes {
    /// The body's bytes.
    public static var bytes: ResponseSerializers.Bytes { ResponseSerializers.Bytes() }
}

extension ResponseSerializer where Self == ResponseSerializers.FoundationData {
    /// The body's bytes as Foundation's `Data`.
    public static var data: ResponseSerializers.FoundationData { ResponseSerializers.FoundationData() }
}

extension ResponseSerializer where Self == ResponseSerializers.Nothing {
    /// Nothing: the status is checked, the body read and forgotten.
    public static var nothing: ResponseSerializers.Nothing { ResponseSerializers.Nothing() }
}

extension ResponseSerializer where Self == ResponseSerializers.File {
    /// A file with the body in it.
    public static func file(_ destination: Destination, integrity: IntegrityRequirement = IntegrityRequirement())
        -> Self
    {
        ResponseSerializers.File(destination, integrity: integrity)
    }
}

extension ResponseSerializer {
    /// A value decoded from JSON, as `as:` with a type brings it, and the response.
    public static func valueAndResponse<Model: Decodable & Sendable>(
        _ type: Model.Type
    ) -> Self where Self == ResponseSerializers.ValueAndResponse<JSONResponseSerializer<Model>> {
        ResponseSerializers.ValueAndResponse(.model(type))
    }

    /// The value that another serializer makes, and the response.
    public static func valueAndResponse<Base: BodyResponseSerializer>(
        _ serializer: Base
    ) -> Self where Self == ResponseSerializers.ValueAndResponse<Base> {
        ResponseSerializers.ValueAndResponse(serializer)
    }
}
