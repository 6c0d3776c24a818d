internal import COpenSSL
internal import Glibc

/// The subject alternative names of a certificate (RFC 5280 §4.2.1.6), bytes as they came.
struct AlternativeNames {
    var hosts: [[UInt8]] = []
    var addresses: [[UInt8]] = []
    private var others: [String] = []

    /// nil if there is none, or if the extension is broken.
    init?(_ certificate: CertificateHandle) {
        var critical: Int32 = 0
        guard let names = curlew_alternative_names(certificate.raw, &critical) else {
            ERR_clear_error()
            return nil
        }
        defer { curlew_names_free(names) }
        for index in 0..<curlew_name_count(names) {
            guard let name = curlew_name_at(names, index), let string = curlew_name_string(name) else { continue }
            let bytes = Array(
                UnsafeBufferPointer(start: ASN1_STRING_get0_data(string), count: Int(ASN1_STRING_length(string))))
            switch curlew_name_kind(name) {
            case GEN_DNS: hosts.append(bytes)
            case GEN_IPADD: addresses.append(bytes)
            case GEN_EMAIL: others.append("email:" + String(decoding: bytes, as: UTF8.self))
            default: others.append("URI:" + String(decoding: bytes, as: UTF8.self))
            }
        }
    }

    /// For people to read.
    var descriptions: [String] {
        let names = hosts.map { "DNS:" + String(decoding: $0, as: UTF8.self) }
        return (names + addresses.map { "IP:" + Self.describe($0) } + others).map(CertificateDetails.printable)
    }

    private static func describe(_ address: [UInt8]) -> String {
        guard address.count == 4 || address.count == 16 else { return "\(address.count) bytes" }
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let family = address.count == 4 ? AF_INET : AF_INET6
        guard inet_ntop(family, address, &text, socklen_t(text.count)) != nil else { return "" }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
