internal import Curlew

/// The description of an error that a server sends as `application/problem+json` (RFC 9457).
///
/// A member of a wrong type is ignored, as the RFC requires, and so is an invalid status. The server has written the
/// texts: show them with ``description``, which escapes dangerous characters.
///
/// ```swift
/// let problem = try JSONDecoder().decode(ProblemDetails.self, from: body)
/// if problem.hasType("https://example.com/probs/out-of-credit") { … }
/// ```
///
/// ``WithExtensions`` decodes the additional members of a problem as a `Decodable` type.
public struct ProblemDetails: Sendable, Decodable {
    /// The URI of the kind of problem; `about:blank` if the server sends none. It may be relative to the URI of the
    /// response.
    public let type: String
    /// A short summary of the kind of problem.
    public let title: String?
    /// The status code in the document, from 100 to 999. The status of the response may differ.
    public let status: Int?
    /// An explanation of this occurrence of the problem.
    public let detail: String?
    /// The URI of this occurrence of the problem.
    public let instance: String?

    /// - Parameters:
    ///   - type: The URI of the kind of problem.
    ///   - title: A short summary of the kind of problem.
    ///   - status: The status code.
    ///   - detail: An explanation of this occurrence of the problem.
    ///   - instance: The URI of this occurrence of the problem.
    public init(
        type: String = "about:blank", title: String? = nil, status: Int? = nil, detail: String? = nil,
        instance: String? = nil
    ) {
        self.type = type
        self.title = title
        self.status = status
        self.detail = detail
        self.instance = instance
    }

    private enum CodingKeys: String, CodingKey {
        case type, title, status, detail, instance
    }

    /// - Throws: `DecodingError` for JSON that is not an object.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        type = (try? container.decode(String.self, forKey: .type)) ?? "about:blank"
        title = try? container.decode(String.self, forKey: .title)
        let code = try? container.decode(Int.self, forKey: .status)
        status = code.flatMap { (100...999).contains($0) ? $0 : nil }
        detail = try? container.decode(String.self, forKey: .detail)
        instance = try? container.decode(String.self, forKey: .instance)
    }

    /// True if the problem has the type. URIs are compared as bytes.
    public func hasType(_ uri: String) -> Bool { type.hasSameBytes(as: uri) }

    /// True for the media type of a problem. Parameters may follow it.
    public static func isMediaType(_ contentType: String) -> Bool {
        let type = contentType.utf8.prefix { $0 != .semicolon }.trimmingBlanks
        return type.lazy.map(\.lowercasedASCII).elementsEqual("application/problem+json".utf8)
    }
}

extension ProblemDetails: Hashable {
    private var bytes: [[UInt8]?] { [type, title, detail, instance].map { $0.map { Array($0.utf8) } } }

    public static func == (one: Self, other: Self) -> Bool { one.status == other.status && one.bytes == other.bytes }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(status)
        hasher.combine(bytes)
    }
}

extension ProblemDetails: CustomStringConvertible {
    /// The title, or the type without a title, and the status in one line of at most 210 characters:
    /// `Out of credit (403)`. The detail is left out, because it may contain data of the user.
    public var description: String {
        PeerText.escaped(title ?? type, limit: 200) + (status.map { " (\($0))" } ?? "")
    }
}

extension ProblemDetails {
    /// A problem with the members that its type adds.
    ///
    /// ```swift
    /// struct Credit: Decodable { var balance: Int, accounts: [String] }
    /// let problem = try JSONDecoder().decode(ProblemDetails.WithExtensions<Credit>.self, from: body)
    /// ```
    public struct WithExtensions<Extensions: Decodable>: Decodable {
        /// The members that all problems have.
        public let problem: ProblemDetails
        /// The members of the problem's type; nil if they are missing, or of another type.
        public let extensions: Extensions?

        /// - Throws: `DecodingError` for JSON that is not an object.
        public init(from decoder: any Decoder) throws {
            problem = try ProblemDetails(from: decoder)
            extensions = try? Extensions(from: decoder)
        }
    }
}

extension ProblemDetails.WithExtensions: Sendable where Extensions: Sendable {}
