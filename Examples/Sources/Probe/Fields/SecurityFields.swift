internal import Curlew
internal import FoundationEssentials

extension FieldRule {
    /// The fields about trust, client certificates and TLS.
    static let security: [FieldRule] = [
        FieldRule("cacert") { field, order in order.security.anchorsFile = try field.string() },
        FieldRule("verify") { field, order in order.security.allowsInvalidCertificates = !(try field.flag()) },
        FieldRule("verify_host") { field, order in order.security.validatesDomainName = try field.flag() },
        FieldRule("pinning") { field, order in
            let word = try field.string()
            guard let mode = SecuritySettings.PinningMode(rawValue: word) else {
                throw LineProblem.unsupported("pinning \(word)")
            }
            order.security.pinningMode = mode
        },
        FieldRule("pinned") { field, order in order.security.pinnedFile = try field.string() },
        FieldRule("pins") { field, order in order.security.pins = try field.strings() },
        FieldRule("client_cert") { field, order in order.security.identityFile = try field.string() },
        FieldRule("client_key") { field, order in order.security.identityKeyFile = try field.string() },
        FieldRule("crls") { field, order in order.security.revocationFile = try field.string() },
        FieldRule("max_depth") { field, order in order.security.intermediateLimit = try field.count() },
        FieldRule("time") { field, order in
            order.security.validationDate = Date(timeIntervalSince1970: Double(try field.count()))
        },
        FieldRule("ocsp") { field, order in
            let stapling = SecurityPolicy.Stapling(rawValue: try field.string())
            guard [.off, .ifPresent, .required].contains(stapling) else {
                throw LineProblem.unsupported("ocsp \(stapling)")
            }
            order.security.stapling = stapling
        },
        FieldRule("strict") { field, order in order.security.isStrict = try field.flag() },
        FieldRule("tls_min") { field, order in order.security.minimumVersion = try version(field) },
        FieldRule("tls_max") { field, order in order.security.maximumVersion = try version(field) },
    ]

    private static func version(_ field: FieldValue) throws -> SecurityPolicy.TLSVersion {
        switch try field.string() {
        case "1.2": .tls12
        case "1.3": .tls13
        case let word: throw LineProblem.unsupported("\(field.name) \(word)")
        }
    }
}
