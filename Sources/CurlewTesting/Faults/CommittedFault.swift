#if TestKit
/// A fault that has happened, and the connection and exchange that it hit.
public struct CommittedFault: Sendable, Hashable {
    /// The fault.
    public let fault: Fault
    /// The number of the connection, from 0.
    public let connectionIndex: Int
    /// The number of the exchange on that connection, from 0; `nil` for a fault of the connection itself.
    public let exchangeIndex: Int?
}
#endif
