import Curlew
import CurlewTesting
import CurlewTestingTraits
import Foundation
import TestHelpers
import Testing

@Suite("Pins", .endsServers, .timeLimit(.minutes(2)))
struct PinTests {
    @Test("a pin is read and written as sha256/ and Base64, and other texts are refused")
    func text() throws {
        let pin = try TestChain.leaf.get().pin
        #expect(try SecurityPolicy.Pin(pin.description) == pin)
        #expect(pin.description.hasPrefix("sha256/") && pin.sha256.count == 32)
        let bad = [
            "", "sha256/", "sha256/AAAA", "sha256/!!!!", "sha1/AAAAAAAAAAAAAAAAAAAAAAAAAAA=", pin.description + "=",
            String(pin.description.dropFirst(7)), "sha256/" + String(repeating: "A", count: 10_000),
        ]
        for text in bad {
            #expect(throws: CurlewError.self, "\(text)") { try SecurityPolicy.Pin(text) }
        }
        #expect(try JSONDecoder().decode([SecurityPolicy.Pin].self, from: JSONEncoder().encode([pin])) == [pin])
    }

    @Test("a pin equals the result of `openssl pkey -pubin -outform der | openssl dgst -sha256`")
    func knownPin() throws {
        let certificate = try CurlewCertificate(
            pem: """
                -----BEGIN CERTIFICATE-----
                MIIBfDCCASGgAwIBAgIUA4EOnR+LIYAkrs0CUfuUsaAdZb8wCgYIKoZIzj0EAwIw
                EzERMA8GA1UEAwwIcGluLnRlc3QwHhcNMjYxMTIxMTcwMDQwWhcNMzYxMTE4MTcw
                MDQwWjATMREwDwYDVQQDDAhwaW4udGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEH
                A0IABCcf/soA0yCj/OQCUeDGsw66qfOwHt07hyse9Ps4HTZjepfe+q7WJ/Q8NYU9
                QLIr1t4d5P4DSb1MrSBnpF8AGX+jUzBRMB0GA1UdDgQWBBRwuWRIVLvl/I3nyJpj
                NgpEn134FzAfBgNVHSMEGDAWgBRwuWRIVLvl/I3nyJpjNgpEn134FzAPBgNVHRMB
                Af8EBTADAQH/MAoGCCqGSM49BAMCA0kAMEYCIQCYQNA1e8Y56uqnLzy68IbCB3JW
                S1P51fSk3NEofmAHdwIhAMMdm+Pmn4EYMISlelLGiqngSODhGEsKKaV4BMNYi7ra
                -----END CERTIFICATE-----
                """)
        #expect(
            try SecurityPolicy.Pin(of: certificate).description == "sha256/Eve+QFHqFDxsJyRv0DRwSYCvvqyp5v5ft/CHXMRNle8="
        )
    }

    @Test("a key matches by its hash or a backup hash, and the response has the matching pin")
    func backups() async throws {
        let stage = try await TrustStage(TestChain.sent())
        let reserve = try TestChain.otherRoot.get().pin
        let used = try TestChain.intermediate.get().pin
        var policy = try TestChain.root.get().anchor
        policy.pinning = .keys(SecurityPolicy.PinSet([reserve], backups: [used]))
        let response = try await stage.fetch(policy)
        #expect(response.security?.matchedPin == used)
        #expect(await response.task?.metrics.last?.security?.matchedPin == used)
        policy.pinning = .keys(SecurityPolicy.PinSet([reserve]))
        let error = try #require(try await stage.refusal(policy))
        #expect(error.code == .pinMismatch)
        #expect(error.message.contains(used.description))
    }

    @Test("expired pins are ignored, while all other checks remain")
    func expiry() async throws {
        let stage = try await TrustStage(TestChain.sent())
        var policy = try TestChain.root.get().anchor
        policy.pinning = .keys(
            SecurityPolicy.PinSet(
                [try TestChain.otherRoot.get().pin], expires: Date(timeIntervalSinceNow: 3600)))
        #expect(try await stage.code(policy) == .pinMismatch)
        policy.pinning = .keys(
            SecurityPolicy.PinSet([try TestChain.otherRoot.get().pin], expires: Date(timeIntervalSinceNow: -1)))
        #expect(try await stage.code(policy) == nil)
        policy.validatesDomainName = false
        policy.allowsInvalidCertificates = true
        #expect(try await stage.code(policy) == .pinMismatch)
        policy.validatesDomainName = true
        #expect(try await stage.code(policy) == .pinMismatch)
        await stage.end()
        let other = try await TrustStage([TestChain.selfSigned.get()])
        policy.allowsInvalidCertificates = false
        #expect(try await other.code(policy) == .selfSignedCertificate)
    }

    @Test("the preset pinned requires the system's authorities and a key")
    func pinned() async throws {
        let own = try TestChain.selfSigned.get()
        let stage = try await TrustStage([own])
        #expect(try await stage.code(.pinned(SecurityPolicy.PinSet([own.pin]))) == .selfSignedCertificate)
        #expect(try await stage.code(.pinned(by: .certificates([own.certificate]))) == .selfSignedCertificate)
        #expect(try await stage.code(.system) == .selfSignedCertificate)
    }

    @Test("pins apply together with custom anchors, set at once or afterwards")
    func pinnedAnchors() async throws {
        let stage = try await TrustStage(TestChain.sent())
        let root = try TestChain.root.get()
        let right = SecurityPolicy.PinSet([try TestChain.leaf.get().pin])
        let wrong = SecurityPolicy.PinSet([try TestChain.otherRoot.get().pin])
        for anchors in [
            { SecurityPolicy.anchors(pem: root.certificatePEM, pins: $0) },
            { SecurityPolicy.anchors([try root.certificate], pins: $0) },
            { pins in
                var policy = SecurityPolicy.anchors(pem: root.certificatePEM)
                policy.pinning = .keys(pins)
                return policy
            },
        ] as [(SecurityPolicy.PinSet) throws -> SecurityPolicy] {
            #expect(try await stage.code(anchors(right)) == nil)
            #expect(try await stage.code(anchors(wrong)) == .pinMismatch)
            #expect(try await stage.code(anchors(SecurityPolicy.PinSet([]))) == .pinMismatch)
        }
    }

    @Test("pins require https, for the base of a session and for each request")
    func secureBase() async throws {
        let policy = SecurityPolicy.pinned(SecurityPolicy.PinSet([try TestChain.leaf.get().pin]))
        var configuration = SessionConfiguration()
        configuration.security = policy
        let error = #expect(throws: CurlewError.self) {
            try HTTPSession(baseURL: "http://example.test/", configuration: configuration, chain: .bare)
        }
        #expect(error?.code == .invalidTLSSetting)
        #expect(throws: CurlewError.self) {
            try HTTPSession(baseURL: "http://example.test/", configuration: configuration, chain: .bare) {
                ChainBuilder.Empty<CurlewRequest, CurlewResponse>()
            }
        }
        _ = try HTTPSession(baseURL: "https://example.test/", configuration: configuration, chain: .bare)
        let session = try HTTPSession(configuration: configuration, chain: .bare)
        let refused = await curlewError { _ = try await session.get("http://example.test/") }
        #expect(refused?.code == .invalidRequest)
    }
}
