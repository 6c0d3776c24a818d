package import Curlew
import Foundation
package import HTTPTypes
import Testing

/// A response without a network.
package func stubResponse(
    _ status: HTTPResponse.Status, type: String? = "application/json", _ body: String
) throws -> CurlewResponse {
    try stubResponse(status, type: type, bytes: Array(body.utf8))
}

package func stubResponse(type: String? = "application/json", _ body: String) throws -> CurlewResponse {
    try stubResponse(.ok, type: type, body)
}

package func stubResponse(
    _ status: HTTPResponse.Status = .ok, type: String? = "application/json", bytes: [UInt8]
) throws -> CurlewResponse {
    var fields = HTTPFields()
    fields[.contentType] = type
    return CurlewResponse(status, fields: fields, body: .bytes(bytes), uri: try CurlewURI("http://stub.test/path"))
}

/// A body with these chunks.
package func chunkedBody(_ chunks: [[UInt8]], then error: (any Error)? = nil) -> CurlewResponse.Body {
    .stream(
        AsyncThrowingStream { continuation in
            for chunk in chunks { continuation.yield(chunk) }
            continuation.finish(throwing: error)
        })
}

/// The bytes in pieces of `size`.
package func pieces(of bytes: [UInt8], size: Int) -> [[UInt8]] {
    stride(from: 0, to: bytes.count, by: size).map { Array(bytes[$0..<min($0 + size, bytes.count)]) }
}
