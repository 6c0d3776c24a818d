import Curlew
import Foundation

/// A private authority, a client certificate and a pinned key, for one session.
public func statusOfInside(_ base: String, certificates folder: String, pin: String) async throws -> String {
    func read(_ name: String) throws -> String { try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8) }
    let pins = try SecurityPolicy.PinSet([SecurityPolicy.Pin(pin)])
    var policy = try SecurityPolicy.anchors(pem: read("authority.pem"), pins: pins)
    policy.identity = try ClientIdentity(pem: read("client.pem"), key: read("client.key"))
    policy.minimumTLSVersion = .tls13
    let inside = try HTTPSession(baseURL: base, configuration: SessionConfiguration(security: policy))
    let response = try await inside.get("status")
    return "\(response.status.code) \(response.security.map { "\($0)" } ?? "no TLS")"
}
