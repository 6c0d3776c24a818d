internal import Curlew

/// The result of a negotiation of permessage-deflate. It is the same at both endpoints.
package struct DeflateAgreement: Sendable, Hashable {
    /// True if the client's messages may refer to its earlier messages.
    package var clientKeepsContext = true
    /// True if the server's messages may refer to its earlier messages.
    package var serverKeepsContext = true
    /// The largest window for the client's messages.
    package var clientWindow = CurlewWebSocket.Compression.Window.bits15
    /// The largest window for the server's messages.
    package var serverWindow = CurlewWebSocket.Compression.Window.bits15

    package init() {}
}

/// The client's part of the negotiation (RFC 7692 §7.1).
extension DeflateAgreement {
    /// The offer of a client with these options.
    static func offer(_ options: CurlewWebSocket.Compression) -> DeflateParameters {
        var offer = DeflateParameters()
        offer.serverKeepsContext = options.serverKeepsContext
        offer.clientKeepsContext = options.clientKeepsContext
        offer.serverWindow = options.serverWindow < .bits15 ? options.serverWindow : nil
        offer.clientWindow = options.clientWindow < .bits15 ? .bits(options.clientWindow) : .any
        return offer
    }

    /// The result for a client.
    /// - Parameters:
    ///   - response: The server's parameters.
    ///   - options: The options from which the offer was made.
    /// - Returns: nil if the response does not fit the offer.
    init?(response: DeflateParameters, to options: CurlewWebSocket.Compression) {
        // A server accepts these two parameters by repeating them (§7.1.1.1, §7.1.2.1). It may also add them without an
        // offer.
        guard options.serverKeepsContext || !response.serverKeepsContext else { return nil }
        serverKeepsContext = response.serverKeepsContext
        if options.serverWindow < .bits15 {
            guard let window = response.serverWindow, window <= options.serverWindow else { return nil }
        }
        serverWindow = response.serverWindow ?? .bits15
        // These two parameters bind the client. Its offer is valid without an answer of the server (§7.1.1.2,
        // §7.1.2.2).
        clientKeepsContext = options.clientKeepsContext && response.clientKeepsContext
        switch response.clientWindow {
        case .absent: clientWindow = options.clientWindow
        case .any: return nil
        case .bits(let window):
            guard window <= options.clientWindow else { return nil }
            clientWindow = window
        }
    }
}

/// The server's part of the negotiation (RFC 7692 §7.1).
extension DeflateAgreement {
    /// The result for a server that accepts the first acceptable offer.
    /// - Parameters:
    ///   - offers: The elements of the client's field, including other extensions.
    ///   - options: The server's options.
    /// - Returns: The response and the result; nil if no offer is acceptable.
    static func answer(
        to offers: [ExtensionElement], options: CurlewWebSocket.Compression
    ) -> (response: DeflateParameters, agreement: DeflateAgreement)? {
        for element in offers where element.name.hasSameBytes(as: DeflateParameters.name) {
            guard let offer = DeflateParameters(element) else { continue }
            return answer(to: offer, options)
        }
        return nil
    }

    private static func answer(
        to offer: DeflateParameters, _ options: CurlewWebSocket.Compression
    ) -> (response: DeflateParameters, agreement: DeflateAgreement) {
        var response = DeflateParameters()
        var agreement = DeflateAgreement()
        response.serverKeepsContext = options.serverKeepsContext && offer.serverKeepsContext
        response.clientKeepsContext = options.clientKeepsContext && offer.clientKeepsContext
        let serverWindow = min(options.serverWindow, offer.serverWindow ?? .bits15)
        response.serverWindow = offer.serverWindow != nil || serverWindow < .bits15 ? serverWindow : nil
        switch offer.clientWindow {
        // The client does not know the parameter, and the response must not have it (§7.1.2.2).
        case .absent: break
        case .any:
            agreement.clientWindow = options.clientWindow
            if options.clientWindow < .bits15 { response.clientWindow = .bits(options.clientWindow) }
        case .bits(let window):
            agreement.clientWindow = min(window, options.clientWindow)
            response.clientWindow = .bits(agreement.clientWindow)
        }
        agreement.serverKeepsContext = response.serverKeepsContext
        agreement.clientKeepsContext = response.clientKeepsContext
        agreement.serverWindow = serverWindow
        return (response, agreement)
    }
}
