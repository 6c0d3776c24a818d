#if Storage || Postgres
public import Curlew
public import FoundationEssentials
public import HTTPTypes

/// A transfer of a ``DurableSession``: a snapshot from the time of the query.
public struct DurableTransfer: Sendable, Identifiable {
    public let id: ID
    /// The data and options of the transfer.
    public let request: Request
    public let state: State
    /// The time at which the transfer was enqueued.
    public let enqueued: Date
    /// The number of failed attempts. Attempts that ended by a crash, a shutdown or a lack of network do not count.
    public let failures: Int
    /// The bytes received or sent, as last recorded by the worker, about once a second.
    public let transferred: Int64
    /// The total size in bytes; nil if unknown.
    public let total: Int64?
    /// The time of the next attempt while the transfer waits for it; nil otherwise.
    public let nextAttempt: Date?
    /// The error of the last attempt, or the error that failed the transfer. Only its code and message are stored.
    public let lastError: CurlewError?
    /// The result of the transfer; nil before its end.
    public let outcome: Outcome?
    /// The position of the transfer's end among the ends of the queue; nil before the end. See
    /// ``DurableSession/events(after:)``.
    public let cursor: DurableSession.Cursor?

    /// The result of an ended transfer.
    public enum Outcome: Sendable {
        /// A finished download: the file has its final name.
        case file(File)
        /// A finished upload: the response of the server.
        case response(Response)
        case failed(CurlewError)
        case cancelled
    }

    /// A downloaded file.
    public struct File: Sendable, Hashable, Codable {
        public let path: String
        /// The size in bytes.
        public let size: Int64
        /// The verified digest; nil if there was none to compare with.
        public let digest: ContentDigest?
    }

    /// The response of a server to an upload.
    public struct Response: Sendable, Hashable {
        public let status: HTTPResponse.Status
        /// The fields, except those that are known to contain secrets, such as Set-Cookie.
        public let fields: HTTPFields
        /// The first 64 KiB of the body.
        public let body: [UInt8]
    }

    /// The identifier of a transfer: 128 random bits, in hexadecimal.
    public struct ID: Sendable, Hashable, Codable, LosslessStringConvertible {
        public let description: String

        /// Makes a new identifier.
        public init() {
            var random = SystemRandomNumberGenerator()
            let digits = String(random.next(), radix: 16)
            let more = String(random.next(), radix: 16)
            description =
                String(repeating: "0", count: 16 - digits.count) + digits
                + String(repeating: "0", count: 16 - more.count) + more
        }

        /// Reads an identifier; nil unless the text has 32 hexadecimal digits in lower case.
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
