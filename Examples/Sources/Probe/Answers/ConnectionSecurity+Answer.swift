internal import Curlew

extension ConnectionSecurity {
    /// What the member `tls` tells.
    var answer: JSONValue {
        .object([
            .init("version", .string(String(tlsVersion.description.trimmingPrefix("TLSv")))),
            .init("cipher", .string(cipher)),
            .init("chain_length", .integer(chain.count)),
            .init("matched_pin", matchedPin.map { .string("\($0)") } ?? .null),
        ])
    }
}
