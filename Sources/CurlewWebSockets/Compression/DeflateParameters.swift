internal import Curlew

/// The parameters of an offer or a response of permessage-deflate (RFC 7692 §7.1).
struct DeflateParameters: Hashable {
    /// The parameter `client_max_window_bits`.
    enum ClientWindow: Hashable {
        case absent
        /// Without a value: the client accepts any window. Only an offer may have this form.
        case any
        case bits(CurlewWebSocket.Compression.Window)
    }

    var serverKeepsContext = true
    var clientKeepsContext = true
    var serverWindow: CurlewWebSocket.Compression.Window?
    var clientWindow = ClientWindow.absent

    static let name = "permessage-deflate"

    init() {}

    /// Reads the parameters; nil if a parameter is unknown, occurs twice or has an invalid value.
    init?(_ element: ExtensionElement) {
        var names: Set<String> = []
        for parameter in element.parameters {
            guard names.insert(parameter.name).inserted, read(parameter) else { return nil }
        }
    }

    private mutating func read(_ parameter: ExtensionElement.Parameter) -> Bool {
        switch (parameter.name, parameter.value) {
        case ("server_no_context_takeover", nil): serverKeepsContext = false
        case ("client_no_context_takeover", nil): clientKeepsContext = false
        case ("server_max_window_bits", let value?):
            guard let window = CurlewWebSocket.Compression.Window(value) else { return false }
            serverWindow = window
        case ("client_max_window_bits", nil): clientWindow = .any
        case ("client_max_window_bits", let value?):
            guard let window = CurlewWebSocket.Compression.Window(value) else { return false }
            clientWindow = .bits(window)
        default: return false
        }
        return true
    }

    /// The parameters as an element of the field.
    var element: ExtensionElement {
        var parameters: [ExtensionElement.Parameter] = []
        if !serverKeepsContext { parameters.append(.init(name: "server_no_context_takeover")) }
        if !clientKeepsContext { parameters.append(.init(name: "client_no_context_takeover")) }
        if let serverWindow {
            parameters.append(.init(name: "server_max_window_bits", value: "\(serverWindow.rawValue)"))
        }
        switch clientWindow {
        case .absent: break
        case .any: parameters.append(.init(name: "client_max_window_bits"))
        case .bits(let window):
            parameters.append(.init(name: "client_max_window_bits", value: "\(window.rawValue)"))
        }
        return ExtensionElement(name: Self.name, parameters: parameters)
    }
}

extension CurlewWebSocket.Compression.Window {
    /// Reads a decimal number from 8 to 15 without leading zeros.
    init?(_ text: String) {
        guard let window = Self.allCases.first(where: { "\($0.rawValue)".hasSameBytes(as: text) }) else { return nil }
        self = window
    }
}
