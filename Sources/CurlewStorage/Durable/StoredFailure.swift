#if Storage || Postgres
package import Curlew
internal import FoundationEssentials

/// The stored form of an error.
package struct StoredFailure: Codable, Sendable {
    let code: ErrorCode
    let message: String

    package init(_ code: ErrorCode, _ message: String) {
        self.code = code
        self.message = message
    }

    init(_ error: CurlewError) { self.init(error.code, error.message) }

    var error: CurlewError { CurlewError(code, message) }
    package var encoded: [UInt8] { (try? JSONEncoder().encode(self)).map { Array($0) } ?? [] }
}
#endif
