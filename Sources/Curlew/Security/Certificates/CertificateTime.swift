internal import COpenSSL
internal import Glibc

/// Times of ASN.1 as seconds since 1970.
enum CertificateTime {
    static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
        var broken = tm()
        guard let time, ASN1_TIME_to_tm(time, &broken) == 1 else { return nil }
        return Int64(timegm(&broken))
    }

    static func seconds(generalized time: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?) -> Int64? {
        time.flatMap { seconds(UnsafePointer($0)) }
    }

    /// Whole seconds of a moment, which may be any `Double`: what is beyond the years that certificates can name is their
    /// beginning or end, where none of them is valid.
    static func seconds(_ interval: Double) -> Int64 {
        // The years 1 and 9999. Of NaN `min` makes the end.
        Int64(max(-62_135_596_800, min(253_402_300_799, interval)).rounded(.down))
    }

    /// Now.
    static var now: Int64 { Int64(time(nil)) }

    /// As certificates are shown: `2026-11-21 15:04:05 UTC`.
    static func describe(_ seconds: Int64) -> String {
        var moment = time_t(seconds)
        var broken = tm()
        gmtime_r(&moment, &broken)
        var text = [CChar](repeating: 0, count: 64)
        let count = strftime(&text, text.count, "%Y-%m-%d %H:%M:%S UTC", &broken)
        return String(decoding: text.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
