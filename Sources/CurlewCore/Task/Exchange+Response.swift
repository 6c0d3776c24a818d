internal import HTTPTypes

extension Exchange {
    /// Creates the response for a caller. It is not stored, as the response retains the exchange.
    func makeResponse(_ head: HTTPResponse, interim: [HTTPResponse]) -> CurlewResponse {
        if head.status == .switchingProtocols { return makeUpgradedResponse(head, interim: interim) }
        let source: any BodySource =
            switch takeBody() {
            case .whole(let body): body
            case .arriving(let channel): BodyReader(channel: channel, exchange: self)
            }
        let body = CurlewResponse.Body(storage: .source(source), length: expectedBodyBytes)
        var response = CurlewResponse(
            head: head, body: body, version: version, uri: request.uri, interim: interim, exchange: self)
        if let security { response.security = security }
        if let decide = request.options.onResponse { response.decision = SharedDecision(decide) }
        return response
    }

    /// Creates the response to an upgrade, which carries the connection and has no body.
    private func makeUpgradedResponse(_ head: HTTPResponse, interim: [HTTPResponse]) -> CurlewResponse {
        _ = takeBody()
        var response = CurlewResponse(
            head: head, body: .bytes([]), version: version, uri: request.uri, interim: interim, exchange: self)
        if let security { response.security = security }
        response.upgradedConnection = TransferConnection(self, loop: host.loop)
        return response
    }
}
