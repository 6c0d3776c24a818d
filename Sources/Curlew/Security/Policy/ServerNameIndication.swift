/// The name that the handshake tells the server in the clear (RFC 6066 §3). Certificates are always checked for the host
/// of the request.
public enum ServerNameIndication: Sendable, Hashable, Codable {
    /// The request's host; none for an address.
    case host
    /// None.
    case none
    /// Another name.
    case name(String)
}
