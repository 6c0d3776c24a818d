internal import Curlew
internal import CurlewPlatform
internal import FoundationEssentials

/// A source of AWS credentials: a fixed one, the environment, the shared file, or an endpoint of the machine.
///
/// ``AWSSigning`` asks the source when it needs a credential: for the first request, before the old credential expires,
/// and when a server reports that it has expired.
///
/// ```swift
/// let source = AWSCredentialSource.first(of: [.environment(), .sharedFile(profile: "build"), .container()])
/// ```
public struct AWSCredentialSource: Sendable {
    private let load: @Sendable () async throws -> AWSCredential?

    /// - Parameter load: Returns a credential, or nil if this source has none. An error ends the search.
    public init(_ load: @escaping @Sendable () async throws -> AWSCredential?) { self.load = load }

    /// A credential that does not change.
    public static func fixed(_ credential: AWSCredential) -> AWSCredentialSource { AWSCredentialSource { credential } }

    /// The variables `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN` and `AWS_CREDENTIAL_EXPIRATION`.
    /// - Parameter variables: The environment; nil uses the environment of the process at the time of each search.
    public static func environment(_ variables: [String: String]? = nil) -> AWSCredentialSource {
        AWSCredentialSource { try AWSCredential(environment: variables ?? ProcessEnvironment.variables) }
    }

    /// A profile of the shared credentials file.
    ///
    /// The file is read for each credential. It has at most 1 MiB, and no other user may read or write it
    /// (``Curlew/ErrorCode/credentialFileExposed``). If the file does not exist, the source has no credential.
    /// - Parameters:
    ///   - path: The path; nil uses `AWS_SHARED_CREDENTIALS_FILE`, or else `~/.aws/credentials`.
    ///   - profile: The profile; nil uses `AWS_PROFILE`, or else `default`.
    ///   - variables: The environment; nil uses the environment of the process.
    public static func sharedFile(
        _ path: String? = nil, profile: String? = nil, environment variables: [String: String]? = nil
    ) -> AWSCredentialSource {
        AWSCredentialSource {
            let variables = variables ?? ProcessEnvironment.variables
            let home = variables["HOME"].map { "\($0)/.aws/credentials" }
            guard let path = path ?? variables["AWS_SHARED_CREDENTIALS_FILE"] ?? home, access(path, F_OK) == 0 else {
                return nil
            }
            let bytes = try await SecretFile.readElsewhere(path, limit: AWSProfileFile.sizeLimit)
            return try AWSCredential(
                sharedFile: bytes, profile: profile ?? variables["AWS_PROFILE"] ?? "default")
        }
    }

    /// The endpoint of a container in ECS or EKS, which `AWS_CONTAINER_CREDENTIALS_RELATIVE_URI` or
    /// `AWS_CONTAINER_CREDENTIALS_FULL_URI` names.
    ///
    /// The endpoint must use HTTPS, be on this machine, or be one of the addresses of ECS and EKS. The request uses no
    /// proxy, follows no redirect, and takes at most 5 seconds.
    /// - Parameter variables: The environment; nil uses the environment of the process.
    public static func container(environment variables: [String: String]? = nil) -> AWSCredentialSource {
        AWSCredentialSource {
            let variables = variables ?? ProcessEnvironment.variables
            guard let endpoint = try AWSContainerEndpoint(environment: variables) else { return nil }
            return try await MetadataClient().credential(from: endpoint)
        }
    }

    /// The metadata service of an EC2 instance, by version 2 of its protocol.
    ///
    /// No other source includes this source, because address policies exist to forbid the service's address,
    /// 169.254.169.254. The requests use no proxy, follow no redirect, and take at most 5 seconds.
    /// - Parameter endpoint: The URL of the service without a path.
    public static func instanceMetadata(
        endpoint: String = "http://169.254.169.254"
    ) -> AWSCredentialSource {
        AWSCredentialSource { try await MetadataClient().credential(ofInstanceAt: endpoint) }
    }

    /// A source that searches several sources, and returns the first credential.
    public static func first(of sources: [AWSCredentialSource]) -> AWSCredentialSource {
        AWSCredentialSource {
            for source in sources {
                if let credential = try await source.load() { return credential }
            }
            return nil
        }
    }

    /// The usual source: the environment, the shared file, and the endpoint of a container, in this order.
    public static var standard: AWSCredentialSource { .first(of: [.environment(), .sharedFile(), .container()]) }

    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/credentialUnavailable`` if the source has none.
    func credential() async throws -> AWSCredential {
        guard let credential = try await load() else {
            throw CurlewError(.credentialUnavailable, "no source has an AWS credential")
        }
        return credential
    }
}

/// The environment of the process.
enum ProcessEnvironment {
    static var variables: [String: String] { ProcessInfo.processInfo.environment }
}
