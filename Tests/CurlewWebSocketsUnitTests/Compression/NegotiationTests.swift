import Testing

@testable import CurlewWebSockets

@Suite("Negotiation of permessage-deflate")
struct NegotiationTests {
    private func element(_ text: String) throws -> ExtensionElement {
        let elements = try #require(ExtensionElement.elements([text]))
        return try #require(elements.first)
    }

    /// The response of a server, as text.
    private func answer(_ offers: String, _ options: CurlewWebSocket.Compression = CurlewWebSocket.Compression()) throws
        -> String?
    {
        let elements = try #require(ExtensionElement.elements([offers]))
        return DeflateAgreement.answer(to: elements, options: options)?.response.element.text
    }

    @Test("a field is parsed by its grammar")
    func grammar() throws {
        let elements = ExtensionElement.elements([
            #"permessage-deflate; server_max_window_bits="10" ; client_max_window_bits ,foo"#, ", bar;a=b;c,,", "",
        ])
        #expect(
            elements == [
                ExtensionElement(
                    name: "permessage-deflate",
                    parameters: [
                        .init(name: "server_max_window_bits", value: "10"), .init(name: "client_max_window_bits"),
                    ]),
                ExtensionElement(name: "foo"),
                ExtensionElement(name: "bar", parameters: [.init(name: "a", value: "b"), .init(name: "c")]),
            ])
    }

    @Test("the escapes of a quoted value are removed")
    func quotedValue() throws {
        #expect(try element(#"a; b="1\0""#).parameters == [.init(name: "b", value: "10")])
    }

    @Test(
        "a field that violates the grammar is refused",
        arguments: [
            "a b", ";a", "a;", "a;=b", "a;b=", #"a;b="c"#, #"a;b="c\"#, #"a;b="c d""#, #"a;b="""#, "a;b=c=d", "a=b",
            "é", "a;b=é", "a;;b",
        ])
    func brokenGrammar(_ text: String) { #expect(ExtensionElement.elements([text]) == nil) }

    @Test("an offer contains the options of the client")
    func offers() {
        #expect(
            DeflateAgreement.offer(CurlewWebSocket.Compression()).element.text
                == "permessage-deflate; client_max_window_bits")
        let options = CurlewWebSocket.Compression(
            clientKeepsContext: false, serverKeepsContext: false, clientWindow: .bits10, serverWindow: .bits9)
        #expect(
            DeflateAgreement.offer(options).element.text
                == "permessage-deflate; server_no_context_takeover; client_no_context_takeover; "
                + "server_max_window_bits=9; client_max_window_bits=10")
    }

    @Test(
        "parameters are refused if they are unknown, repeated or invalid",
        arguments: [
            "x", "server_no_context_takeover=1", "client_no_context_takeover=true", "server_max_window_bits",
            "server_max_window_bits=7", "server_max_window_bits=16", "server_max_window_bits=08",
            "server_max_window_bits=+9", "server_max_window_bits=0x9", "client_max_window_bits=0",
            "client_max_window_bits=100", "client_max_window_bits; client_max_window_bits",
            "server_no_context_takeover; server_no_context_takeover", "Server_no_context_takeover",
        ])
    func invalidParameters(_ parameters: String) throws {
        #expect(try DeflateParameters(element("permessage-deflate; \(parameters)")) == nil)
        #expect(try answer("permessage-deflate; \(parameters)") == nil)
    }

    @Test(
        "a server answers an offer with parameters that fit",
        arguments: [
            ("permessage-deflate", "permessage-deflate"),
            ("permessage-deflate; client_max_window_bits", "permessage-deflate"),
            ("permessage-deflate; client_max_window_bits=10", "permessage-deflate; client_max_window_bits=10"),
            ("permessage-deflate; server_max_window_bits=10", "permessage-deflate; server_max_window_bits=10"),
            ("permessage-deflate; server_max_window_bits=15", "permessage-deflate; server_max_window_bits=15"),
            ("permessage-deflate; server_max_window_bits=8", "permessage-deflate; server_max_window_bits=8"),
            ("permessage-deflate; server_no_context_takeover", "permessage-deflate; server_no_context_takeover"),
            ("permessage-deflate; client_no_context_takeover", "permessage-deflate; client_no_context_takeover"),
            (
                "foo, permessage-deflate; x, permessage-deflate; server_max_window_bits=\"9\"",
                "permessage-deflate; server_max_window_bits=9"
            ),
        ])
    func answers(_ offer: String, _ response: String) throws { #expect(try answer(offer) == response) }

    @Test("a server adds its own options, except for a window that the client does not know")
    func ownOptions() throws {
        let options = CurlewWebSocket.Compression(
            clientKeepsContext: false, serverKeepsContext: false, clientWindow: .bits9, serverWindow: .bits10)
        #expect(
            try answer("permessage-deflate", options)
                == "permessage-deflate; server_no_context_takeover; client_no_context_takeover; server_max_window_bits=10"
        )
        #expect(
            try answer("permessage-deflate; client_max_window_bits; server_max_window_bits=9", options)
                == "permessage-deflate; server_no_context_takeover; client_no_context_takeover; "
                + "server_max_window_bits=9; client_max_window_bits=9")
    }

    @Test(
        "a server answers without the extension if no offer is acceptable",
        arguments: ["", "foo", "x-webkit-deflate-frame", "Permessage-Deflate"])
    func noAnswer(_ offers: String) throws { #expect(try answer(offers) == nil) }

    @Test(
        "a client refuses a response that does not fit its offer",
        arguments: [
            (CurlewWebSocket.Compression(), "client_max_window_bits"),
            (CurlewWebSocket.Compression(serverKeepsContext: false), ""),
            (CurlewWebSocket.Compression(serverWindow: .bits10), ""),
            (CurlewWebSocket.Compression(serverWindow: .bits10), "server_max_window_bits=11"),
            (CurlewWebSocket.Compression(clientWindow: .bits10), "client_max_window_bits=11"),
        ])
    func unfitResponse(_ options: CurlewWebSocket.Compression, _ parameters: String) throws {
        let text = parameters.isEmpty ? "permessage-deflate" : "permessage-deflate; \(parameters)"
        let response = try #require(try DeflateParameters(element(text)))
        #expect(DeflateAgreement(response: response, to: options) == nil)
    }

    @Test("a client accepts additional parameters of the server")
    func additions() throws {
        let text =
            "permessage-deflate; server_no_context_takeover; client_no_context_takeover; "
            + "server_max_window_bits=9; client_max_window_bits=8"
        let response = try #require(try DeflateParameters(element(text)))
        let agreement = try #require(DeflateAgreement(response: response, to: CurlewWebSocket.Compression()))
        #expect(!agreement.clientKeepsContext && !agreement.serverKeepsContext)
        #expect(agreement.serverWindow == .bits9 && agreement.clientWindow == .bits8)
    }

    @Test("a client follows its own offer even if the server does not repeat it")
    func promises() throws {
        let options = CurlewWebSocket.Compression(clientKeepsContext: false, clientWindow: .bits10)
        let agreement = try #require(DeflateAgreement(response: DeflateParameters(), to: options))
        #expect(!agreement.clientKeepsContext)
        #expect(agreement.clientWindow == .bits10)
    }

    @Test("the results of client and server are compatible for all options")
    func allOptions() throws {
        let windows: [CurlewWebSocket.Compression.Window] = [.bits8, .bits9, .bits12, .bits15]
        var options: [CurlewWebSocket.Compression] = []
        for clientWindow in windows {
            for serverWindow in windows {
                for contexts in 0..<4 {
                    options.append(
                        CurlewWebSocket.Compression(
                            clientKeepsContext: contexts & 1 == 0, serverKeepsContext: contexts & 2 == 0,
                            clientWindow: clientWindow, serverWindow: serverWindow))
                }
            }
        }
        for client in options {
            for server in options {
                let offer = try element(DeflateAgreement.offer(client).element.text)
                let answer = try #require(DeflateAgreement.answer(to: [offer], options: server))
                let response = try #require(DeflateParameters(try element(answer.response.element.text)))
                let agreement = try #require(DeflateAgreement(response: response, to: client))
                // The client may limit itself more than the server knows.
                #expect(agreement == answer.agreement)
            }
        }
    }
}
