#if Storage || Postgres
public import Curlew
public import FoundationEssentials
public import HTTPTypes

/// A transfer of a ``DurableSession``, as it was when it was asked for.
public struct DurableTransfer: Sendable, Identifiable {
    public let id: ID
    /// What is to be transferred.
    public let request: Request
    public let state: State
    /// When it was enqueued.
    public let enqueued: Date
    /// The attempts that have failed. Those that were ended by a crash, a shutdown or a lack of network do not count.
    public let failures: Int
    /// The bytes that have come, or gone; as its worker last wrote it down, which is about once a second.
    public let transferred: Int64
    /// The bytes in all, if that is known.
    public let total: Int64?
    /// When it is tried next, while it waits for that; nil otherwise.
    public let nextAttempt: Date?
    /// The error of the last attempt, or the one that it has failed with. Its message is all that is kept of it.
    public let lastError: CurlewError?
    /// What has come of it; nil before it has ended.
    public let outcome: Outcome?
    /// The place of its end among the ends of the queue; nil before it has ended. See ``DurableSession/events(after:)``.
    public let cursor: DurableSession.Cursor?

    /// The end of a transfer.
    public enum Outcome: Sendable {
        /// A download: the file has its name.
        case file(File)
        /// An upload: the answer of the server.
        case response(Response)
        case failed(CurlewError)
        case cancelled
    }

    /// The file that a download has brought.
    public struct File: Sendable, Hashable, Codable {
        public let path: String
        /// Its size in bytes.
        public let size: Int64
        /// Its digest, which was checked; nil if there was nothing to check it against.
        public let digest: ContentDigest?
    }

    /// What a server has answered to an upload.
    public struct Response: Sendable, Hashable {
        public let status: HTTPResponse.Status
        /// The fields, but those that are known to hold secrets, such as Set-Cookie.
        public let fields: HTTPFields
        /// The first 64 KiB of the body.
        public let body: [UInt8]
    }

    /// The name of a transfer: 128 random bits, in hexadecimal.
    public struct ID: Sendable, Hashable, Codable, LosslessStringConvertible {
        public let description: String

        /// A new one.
        public init() {
            var random = SystemRandomNumberGenerator()
            let digits = String(random.next(), radix: 16)
            let more = String(random.next(), radix: 16)
            description =
                String(repeating: "0", count: 16 - digits.count) + digits
                + String(repeating: "0", count: 16 - more.count) + more
        }

        /// nil unless it has 32 hexadecimal digits in lower case.
        public init?(_ description: String) {
            guard description.utf8.count == 32,
                description.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
            else { return nil }
            self.description = description
        }

        public init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            guard let id = ID(try container.decode(String.self)) else {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "no name of a transfer")
            }
            self = id
        }

        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(description)
        }
    }
}
#endif
