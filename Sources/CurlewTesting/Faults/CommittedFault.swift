#if TestKit
/// A fault that has happened, and to whom.
public struct CommittedFault: Sendable, Hashable {
    /// What and when.
    public let fault: Fault
    /// The number of the connection, from 0.
    public let connectionIndex: Int
    /// The number of the exchange on that connection, from 0; `nil` for a fault of the connection itself.
    public let exchangeIndex: Int?
}
#endif
