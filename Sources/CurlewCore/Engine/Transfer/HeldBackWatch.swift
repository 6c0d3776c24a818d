/// The check of a request that joins an idle HTTP/2 connection. The server may permit no stream at present
/// (SETTINGS_MAX_CONCURRENT_STREAMS, RFC 9113 §6.5.2). libcurl then holds the request until a stream is permitted,
/// without reporting it. The number of bytes written to the connection reveals it.
struct HeldBackWatch {
    /// The time after which an unsent request counts as held back.
    private static let patience: Int64 = 250_000_000
    /// The size of the frame that libcurl may write meanwhile: the acknowledgement of SETTINGS. The frame of a request
    /// is longer.
    private static let acknowledgement: Int64 = 9

    let deadline: Instant
    private let mostWritten: Int64

    /// - Parameters:
    ///   - written: The bytes written to the connection so far.
    ///   - tlsVersion: The version of TLS; nil without TLS.
    init(written: Int64, tlsVersion: SecurityPolicy.TLSVersion?, at now: Instant) {
        deadline = now.advanced(by: Self.patience)
        mostWritten = written + Self.acknowledgement + Connection.leastProtection(tlsVersion)
    }

    /// True if too few bytes were written to contain the request.
    func isHeldBack(written: Int64) -> Bool { written <= mostWritten }
}

extension Connection {
    /// The smallest number of bytes that the protection of a record adds, with any cipher that HTTP/2 permits (RFC 8446
    /// §5.2, RFC 7905 §2); 0 without TLS.
    static func leastProtection(_ version: SecurityPolicy.TLSVersion?) -> Int64 {
        switch version {
        case nil: 0
        case .tls13: 22
        default: 21
        }
    }
}
