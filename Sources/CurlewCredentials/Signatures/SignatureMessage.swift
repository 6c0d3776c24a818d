internal import Curlew
public import HTTPTypes

extension MessageSignature {
    /// A message whose components are signed or verified: a request, or a response with its request.
    public struct Message: Sendable {
        private let request: HTTPRequest?
        private let requestTrailers: HTTPFields
        private let response: HTTPResponse?
        private let responseTrailers: HTTPFields
        private var kinds: [HTTPField.Name: StructuredField.Kind] = Self.knownKinds

        /// The message of a request.
        /// - Parameters:
        ///   - request: The request as it is sent.
        ///   - trailers: The fields after its content.
        public init(_ request: HTTPRequest, trailers: HTTPFields = [:]) {
            self.request = request
            requestTrailers = trailers
            response = nil
            responseTrailers = [:]
        }

        /// The message of a response.
        /// - Parameters:
        ///   - response: The response as it was received.
        ///   - trailers: The fields after its content.
        ///   - request: The request of the response; nil if no component is from the request.
        public init(_ response: HTTPResponse, trailers: HTTPFields = [:], to request: HTTPRequest? = nil) {
            self.request = request
            requestTrailers = [:]
            self.response = response
            responseTrailers = trailers
        }

        /// The message with a field that is declared as a dictionary, which ``Component/structured`` requires.
        public func withDictionary(_ name: HTTPField.Name) -> Message { with(name, .dictionary) }

        /// The message with a field that is declared as a list of structured values.
        public func withList(_ name: HTTPField.Name) -> Message { with(name, .list) }

        /// The message with a field that is declared as one structured value.
        public func withItem(_ name: HTTPField.Name) -> Message { with(name, .item) }

        private func with(_ name: HTTPField.Name, _ kind: StructuredField.Kind) -> Message {
            var message = self
            message.kinds[name] = kind
            return message
        }

        /// The fields with the signatures.
        var fields: HTTPFields { response?.headerFields ?? request?.headerFields ?? [:] }

        /// The registered structured fields.
        private static let knownKinds: [HTTPField.Name: StructuredField.Kind] = {
            let names: [StructuredField.Kind: String] = [
                .dictionary: """
                accept-signature content-digest priority repr-digest signature signature-input want-content-digest \
                want-repr-digest cdn-cache-control
                """,
                .list: "accept-ch cache-status client-cert-chain proxy-status",
                .item: "client-cert",
            ]
            var kinds: [HTTPField.Name: StructuredField.Kind] = [:]
            for (kind, text) in names {
                for name in text.split(separator: " ") {
                    if let name = HTTPField.Name(String(name)) { kinds[name] = kind }
                }
            }
            return kinds
        }()
    }
}

extension MessageSignature.Message {
    /// The signed text (RFC 9421 §2.5).
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidRequest`` for more than 64 components, and for a
    ///   component that the message lacks, that occurs twice, that has an invalid parameter, or whose value is not
    ///   ASCII.
    func signatureBase(of signature: StructuredField.InnerList) throws(CurlewError) -> [UInt8] {
        guard signature.items.count <= MessageSignature.Component.limit else {
            throw CurlewError(
                .invalidRequest, "a signature covers more than \(MessageSignature.Component.limit) components")
        }
        var base: [UInt8] = []
        var seen: Set<MessageSignature.Component> = []
        for item in signature.items {
            let component = MessageSignature.Component(item: item)
            guard seen.insert(component).inserted else { throw Self.failure(component, "occurs twice") }
            base += Array("\(component.item.text): ".utf8) + (try value(of: component)) + [.lineFeed]
        }
        return base + Array("\"@signature-params\": \(signature.text)".utf8)
    }

    private static func failure(_ component: MessageSignature.Component, _ reason: String) -> CurlewError {
        CurlewError(
            .invalidRequest, "the component \(PeerText.escaped(component.item.text, limit: 120)) \(reason)")
    }

    private func value(of component: MessageSignature.Component) throws(CurlewError) -> [UInt8] {
        guard case .string(let name) = component.item.value else { throw Self.failure(component, "has no name") }
        let isDerived = name.utf8.first == UInt8(ascii: "@")
        let allowed =
            isDerived ? (name == "@query-param" ? ["name", "req"] : ["req"]) : ["sf", "key", "bs", "tr", "req"]
        var isOfRequest = response == nil
        for parameter in component.item.parameters {
            guard allowed.contains(parameter.key) else { throw Self.failure(component, "has an unknown parameter") }
            if parameter.key == "key" || parameter.key == "name" {
                guard case .string = parameter.value else {
                    throw Self.failure(component, "has a parameter of a wrong type")
                }
            } else if parameter.value != .boolean(true) {
                throw Self.failure(component, "has a parameter of a wrong type")
            }
            if parameter.key == "req" {
                guard response != nil else {
                    throw Self.failure(component, "has the parameter req, which only a response may have")
                }
                isOfRequest = true
            }
        }
        let value = isDerived ? derived(name, component, isOfRequest) : try field(name, component, isOfRequest)
        guard let value else { throw Self.failure(component, "is not in the message") }
        guard value.allSatisfy({ $0.isVisible || $0 == .space || $0 == .tab && !isDerived }) else {
            throw Self.failure(component, "has a value beyond printable ASCII; the parameter bs wraps it")
        }
        return value
    }

    // MARK: Derived components

    private func derived(_ name: String, _ component: MessageSignature.Component, _ isOfRequest: Bool) -> [UInt8]? {
        guard isOfRequest else { return name == "@status" ? response.map { Array("\($0.status.code)".utf8) } : nil }
        guard let request else { return nil }
        let target = Array((request.path ?? "").utf8)
        let pathEnd = target.firstIndex(of: .questionMark) ?? target.endIndex
        let scheme = Array((request.scheme ?? "").lowercasedASCII.utf8)
        switch name {
        case "@method": return Array(request.method.rawValue.utf8)
        case "@scheme": return scheme.isEmpty ? nil : scheme
        case "@authority": return authority(of: request).map { $0.map(\.lowercasedASCII) }
        case "@target-uri":
            guard let authority = authority(of: request), !scheme.isEmpty else { return nil }
            // The target of `OPTIONS *` is the server itself, whose URI has no path (RFC 9110 §7.1).
            let isWhole = target.elementsEqual("*".utf8)
            let separator: [UInt8] = isWhole || target.first == .slash ? [] : [.slash]
            return scheme + Array("://".utf8) + authority + separator + (isWhole ? [] : target)
        case "@request-target":
            return request.method == .connect ? request.authority.map { Array($0.utf8) } : target.isEmpty ? nil : target
        case "@path":
            return pathEnd == 0 || target.elementsEqual("*".utf8) ? [.slash] : Array(target[..<pathEnd])
        case "@query": return [.questionMark] + target[pathEnd...].dropFirst()
        case "@query-param":
            guard case .string(let name) = component.item.parameters["name"] else { return nil }
            return queryParameter(name, in: target[pathEnd...].dropFirst())
        default: return nil
        }
    }

    /// The host and port as in the field Host: without user information and without the default port of the scheme. A
    /// field Host of the request itself replaces the authority on the wire, so it counts first.
    private func authority(of request: HTTPRequest) -> [UInt8]? {
        guard let text = request.headerFields[.host] ?? request.authority else { return nil }
        let bytes = Array(text.utf8)
        let host = bytes[(bytes.lastIndex(of: UInt8(ascii: "@")).map { $0 + 1 } ?? 0)...]
        let port = Array((request.scheme?.lowercasedASCII == "https" ? ":443" : ":80").utf8)
        let trimmed = host.suffix(port.count).elementsEqual(port) ? host.dropLast(port.count) : host
        return trimmed.isEmpty ? nil : Array(trimmed)
    }

    /// The encoded value of a parameter that occurs once in the query.
    private func queryParameter(_ name: String, in query: ArraySlice<UInt8>) -> [UInt8]? {
        let encodedAnew = { (text: ArraySlice<UInt8>) in
            let decoded = PercentEncoding.decode(text, plusIsSpace: true)
            return PercentEncoding.encodeForm(String(decoding: decoded, as: UTF8.self), spaceIsPlus: false)
        }
        var values: [String] = []
        for pair in query.split(separator: .ampersand) {
            let end = pair.firstIndex(of: .equals) ?? pair.endIndex
            if encodedAnew(pair[..<end]) == name { values.append(encodedAnew(pair[end...].dropFirst())) }
        }
        return values.count == 1 ? Array(values[0].utf8) : nil
    }

    // MARK: Fields

    private func field(
        _ name: String, _ component: MessageSignature.Component, _ isOfRequest: Bool
    ) throws(CurlewError) -> [UInt8]? {
        let parameters = component.item.parameters
        guard let fieldName = HTTPField.Name(name), fieldName.canonicalName.hasSameBytes(as: name) else { return nil }
        let head = isOfRequest ? request?.headerFields : response?.headerFields
        let fields = parameters["tr"] == nil ? head : isOfRequest ? requestTrailers : responseTrailers
        let values = (fields?[fields: fieldName] ?? []).map { field in
            field.withUnsafeBytesOfValue { Array($0.trimmingBlanks) }
        }
        guard !values.isEmpty else { return nil }
        let isWrapped = parameters["bs"] != nil
        guard !isWrapped || parameters["sf"] == nil && parameters["key"] == nil else {
            throw Self.failure(component, "has parameters that exclude each other")
        }
        if isWrapped {
            return Array(values.map { StructuredField.BareItem.bytes($0).text }.joined(separator: ", ").utf8)
        }
        let combined = Array(values.joined(separator: [.comma, .space]))
        if case .string(let key) = parameters["key"] {
            guard let dictionary = StructuredField.dictionary(combined), let member = dictionary[key] else {
                throw Self.failure(component, "is no member of a dictionary of the message")
            }
            return Array(member.text.utf8)
        }
        guard parameters["sf"] != nil else { return combined }
        guard let text = strictText(of: combined, kinds[fieldName]) else {
            throw Self.failure(component, "is not known as a structured field, or is broken")
        }
        return Array(text.utf8)
    }

    private func strictText(of value: [UInt8], _ kind: StructuredField.Kind?) -> String? {
        switch kind {
        case .item: StructuredField.item(value)?.text
        case .list: StructuredField.list(value)?.map(\.text).joined(separator: ", ")
        case .dictionary: StructuredField.dictionary(value)?.text
        case nil: nil
        }
    }
}

/// Descriptions contain no fields and no query, because these may contain secrets.
extension MessageSignature.Message: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String {
        response.map { "response with the status \($0.status.code)" } ?? "request by \(request?.method.rawValue ?? "")"
    }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["kind": response == nil ? "request" : "response"]) }
}
