internal import Curlew
internal import FoundationEssentials
internal import HTTPTypes

/// A client of the endpoints from which a container or an instance gets the credential of its role.
struct MetadataClient {
    /// The largest size of a response: 64 KiB.
    static let answerLimit = ByteSize.kibibytes(64)

    private let session: HTTPSession

    init() throws {
        var configuration = SessionConfiguration()
        configuration.proxy = .none
        configuration.timeouts = Timeouts(
            connect: .seconds(2), head: .seconds(5), idle: .seconds(5), total: .seconds(5))
        session = try HTTPSession(configuration: configuration, chain: .bare)
    }

    func credential(from endpoint: AWSContainerEndpoint) async throws -> AWSCredential {
        var fields: HTTPFields = [.accept: "application/json"]
        if let path = endpoint.authorizationFile {
            let bytes = try await SecretFile.readElsewhere(path, limit: 64 << 10, isShared: true)
            fields[.authorization] = try Self.token(bytes)
        } else {
            fields[.authorization] = endpoint.authorization
        }
        return try await answer(CurlewRequest(.get, endpoint.uri, fields: fields)).credential
    }

    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidCredential`` for a response without a
    ///   credential.
    func credential(ofInstanceAt endpoint: String) async throws -> AWSCredential {
        let lifetime: HTTPFields = [.init("X-aws-ec2-metadata-token-ttl-seconds")!: "21600"]
        let token = try Self.token(
            await bytes(of: CurlewRequest(.put, "\(endpoint)/latest/api/token", fields: lifetime)))
        let fields: HTTPFields = [.init("X-aws-ec2-metadata-token")!: token]
        let folder = "\(endpoint)/latest/meta-data/iam/security-credentials/"
        let names = try await bytes(of: CurlewRequest(.get, folder, fields: fields))
        let role = String(decoding: names.prefix { $0 != .lineFeed && $0 != .carriageReturn }, as: UTF8.self)
        guard role.isVisibleASCII, role.utf8.allSatisfy({ $0.isUnreserved || "+=,@".utf8.contains($0) }) else {
            throw CurlewError(.invalidCredential, "the metadata service named no role")
        }
        return try await answer(CurlewRequest(.get, folder + role, fields: fields)).credential
    }

    private static func token(_ bytes: [UInt8]) throws(CurlewError) -> String {
        let text = String(decoding: bytes, as: UTF8.self)
        let token = String(decoding: text.utf8.prefix { $0 != .lineFeed && $0 != .carriageReturn }, as: UTF8.self)
        guard !token.isEmpty, token.isPrintableASCII else {
            throw CurlewError(.invalidCredential, "the token of a metadata service is no value of a field")
        }
        return token
    }

    private func answer(_ request: CurlewRequest) async throws -> AWSRoleAnswer {
        let bytes = try await bytes(of: request)
        do {
            return try JSONDecoder().decode(AWSRoleAnswer.self, from: Data(bytes))
        } catch {
            throw CurlewError(.invalidCredential, "the metadata service gave no JSON of a credential").adding(request)
        }
    }

    private func bytes(of request: CurlewRequest) async throws -> [UInt8] {
        var request = request
        request.options.secretFields = [.init("X-aws-ec2-metadata-token")!]
        let response = try await session.send(request)
        let bytes = try await response.body.collect(upTo: Self.answerLimit)
        guard response.status == .ok else {
            throw CurlewError(
                .invalidCredential, "the metadata service answered with the status \(response.status.code)"
            ).adding(request)
        }
        return bytes
    }
}
