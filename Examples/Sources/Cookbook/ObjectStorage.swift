import Curlew
import CurlewCredentials
import Foundation

/// Objects in S3, or in a server with its protocol. Each attempt is signed, and a presigned link needs no credential.
public struct ObjectStorage: Sendable {
    private let base: String
    private let signature: AWSSignature
    private let s3: HTTPSession

    /// The standard source searches the environment, the shared file, and the endpoint of a container.
    public init(at base: String, region: String, credentials: AWSCredentialSource = .standard) throws {
        self.base = base
        signature = try AWSSignature(service: "s3", region: region)
        let signing = try AWSSigning(signature, for: base, credentials: credentials)
        s3 = try HTTPSession(baseURL: base) {
            StandardChain()
            signing
        }
    }

    public func store(_ file: String, as name: String) async throws {
        try await s3.put("photos/\(name)", .file(file), as: .nothing)
    }

    public func load(_ name: String) async throws -> [UInt8] {
        try await s3.get("photos/\(name)").checked().body.collect(upTo: .mebibytes(16))
    }

    /// A link that permits reading an object for an hour.
    public func link(to name: String, by credential: AWSCredential) throws -> String {
        let path = name.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) ?? name
        let request = try CurlewRequest(.get, "\(base)photos/\(path)").head
        let signed = try signature.presigned(request, credential: credential, at: Date(), validity: .seconds(3600))
        return "\(signed.scheme ?? "")://\(signed.authority ?? "")\(signed.path ?? "")"
    }
}
