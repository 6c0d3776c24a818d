internal import Curlew

extension ConnectionSecurity {
    /// The value of the member `tls`.
    var answer: JSONValue {
        .object([
            .init("version", .string(String(tlsVersion.description.trimmingPrefix("TLSv")))),
            .init("cipher", .string(cipher)),
            .init("chain_length", .integer(chain.count)),
            .init("matched_pin", matchedPin.map { .string("\($0)") } ?? .null),
        ])
    }
}
