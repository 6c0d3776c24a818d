/// The result of a handshake.
package struct HandshakeAgreement: Sendable, Hashable {
    /// The subprotocol; nil for none.
    package var subprotocol: String?
    /// The result of the negotiation of permessage-deflate; nil for no compression.
    package var compression: DeflateAgreement?

    package init(subprotocol: String? = nil, compression: DeflateAgreement? = nil) {
        self.subprotocol = subprotocol
        self.compression = compression
    }
}
