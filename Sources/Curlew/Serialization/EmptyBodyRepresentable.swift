/// A type that has a value for a body that is not there.
///
/// Serializers give that value instead of ``ErrorCode/emptyBody``. Optionals have it: nil.
public protocol EmptyBodyRepresentable {
    /// The value that stands for no body.
    static var valueOfEmptyBody: Self { get }
}

extension Optional: EmptyBodyRepresentable {
    public static var valueOfEmptyBody: Wrapped? { nil }
}

/// What to ask for where no body is expected. One that comes all the same has to be readable; what it says is not looked at.
public struct NoContent: Sendable, Hashable, Codable, EmptyBodyRepresentable {
    public init() {}

    public init(from decoder: any Decoder) throws {}

    public func encode(to encoder: any Encoder) throws {
        _ = encoder.container(keyedBy: EmptyKey.self)
    }

    public static var valueOfEmptyBody: NoContent { NoContent() }

    private enum EmptyKey: CodingKey {}
}
