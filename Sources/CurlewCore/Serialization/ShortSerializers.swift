public import FoundationEssentials
internal import HTTPTypes

/// The serializers with short names: `.bytes`, `.data`, `.nothing`, `.file(…)`, `.raw`, `.text`,
/// `.valueAndResponse(…)`, and the building blocks of other serializers.
///
/// ``JSONResponseSerializer`` and ``PropertyListResponseSerializer`` have many settings, and are separate types.
public enum ResponseSerializers {}

extension ResponseSerializers {
    /// Returns the bytes of the body unchanged.
    ///
    /// It accepts any media type, and also an empty body.
    public struct Bytes: BodyResponseSerializer {
        public var acceptance = ResponseAcceptance(.any)

        public init() {}

        public var format: String { "bytes" }

        public func decode(_ response: CurlewResponse.Collected) throws -> [UInt8] { response.body }
    }
}

extension ResponseSerializers {
    /// Returns the bytes of the body as Foundation's `Data`.
    ///
    /// It accepts any media type, and also an empty body.
    public struct FoundationData: BodyResponseSerializer {
        public var acceptance = ResponseAcceptance(.any)

        public init() {}

        public var format: String { "bytes" }

        public func decode(_ response: CurlewResponse.Collected) throws -> Data { Data(response.body) }
    }
}

extension ResponseSerializers {
    /// Checks the status and ignores the body, whatever its type.
    ///
    /// The body is read up to a limit, so that the connection can serve the next request; beyond the limit it is
    /// dropped.
    public struct Nothing: ResponseSerializer {
        /// The accepted statuses, and the limit on the body that an error keeps.
        public var acceptance = ResponseAcceptance(.any)

        public init() {}

        public func serialize(_ response: CurlewResponse) async throws {
            if case .refused(let refusal) = try await acceptance.judge(response) { throw refusal.error() }
            await response.discard()
        }
    }
}

extension ResponseSerializers {
    /// Returns a value together with its response, for fields such as Link, ETag and rate limits.
    public struct ValueAndResponse<Base: BodyResponseSerializer>: ResponseSerializer, ReportingSerializer {
        /// The serializer that creates the value.
        public var base: Base

        public init(_ base: Base) { self.base = base }

        public var acceptField: String? { base.acceptField }

        /// The value and the response. The response's body contains the bytes that were read, and can be read again.
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
    /// Writes the body to a file; see ``CurlewResponse/save(to:integrity:)``.
    ///
    /// Its requests ask for `identity`, unless they have their own Accept-Encoding. A content coding that the server
    /// applies nevertheless stays in the file, unless ``RequestOptions/decodesContent`` is true.
    public struct File: ResponseSerializer {
        /// The destination of the file.
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

        /// The request for a body that is written to a file unchanged.
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
    /// No value: the status is checked, and the body is read and discarded.
    public static var nothing: ResponseSerializers.Nothing { ResponseSerializers.Nothing() }
}

extension ResponseSerializer where Self == ResponseSerializers.File {
    /// A file with the body.
    public static func file(_ destination: Destination, integrity: IntegrityRequirement = IntegrityRequirement())
        -> Self
    {
        ResponseSerializers.File(destination, integrity: integrity)
    }
}

extension ResponseSerializer {
    /// A value decoded from JSON, as with `as:` and a type, and the response.
    public static func valueAndResponse<Model: Decodable & Sendable>(
        _ type: Model.Type
    ) -> Self where Self == ResponseSerializers.ValueAndResponse<JSONResponseSerializer<Model>> {
        ResponseSerializers.ValueAndResponse(.model(type))
    }

    /// The value of another serializer, and the response.
    public static func valueAndResponse<Base: BodyResponseSerializer>(
        _ serializer: Base
    ) -> Self where Self == ResponseSerializers.ValueAndResponse<Base> {
        ResponseSerializers.ValueAndResponse(serializer)
    }
}
