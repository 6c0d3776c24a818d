import Curlew
import Foundation
import TestHelpers
import Testing

@testable import CurlewCredentials

@Suite("A device that waits for its user")
struct DevicePollingTests {
    func authorization(_ json: String) throws -> OAuth.DeviceAuthorization {
        try JSONDecoder().decode(OAuth.DeviceAuthorization.self, from: Data(json.utf8))
    }

    @Test("the example of RFC 8628 is decoded, and its description does not contain the device code")
    func example() throws {
        let authorization = try authorization(
            """
            {"device_code": "GmRhmhcxhwAzkoEqiMEg_DnyEysNkuNhszIySk9eS", "user_code": "WDJB-MJHT",
            "verification_uri": "https://example.com/device",
            "verification_uri_complete": "https://example.com/device?user_code=WDJB-MJHT",
            "expires_in": 1800, "interval": 5}
            """)
        #expect(authorization.userCode == "WDJB-MJHT")
        #expect(authorization.lifetime == .seconds(1800))
        SecretCheck.expectNone(of: ["GmRhmhcxhwAz"], in: authorization)
        var numbers = FixedNumbers([])
        let form = try OAuth.Client("1406020730").form(
            of: .deviceToken(authorization), endpoint: "https://a/", at: Date(), using: &numbers)
        #expect(
            String(decoding: form.body, as: UTF8.self) == """
                grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code\
                &device_code=GmRhmhcxhwAzkoEqiMEg_DnyEysNkuNhszIySk9eS&client_id=1406020730
                """)
    }

    @Test("the interval is 5 seconds by default, and at least 1 second; codes are valid for a day at most")
    func intervals() throws {
        let base = #""device_code":"d","user_code":"u\u001b","verification_url":"https://a/","expires_in":60"#
        #expect(try authorization("{\(base)}").interval == .seconds(5))
        #expect(try authorization("{\(base),\"interval\":0}").interval == .seconds(1))
        let endless = base.replacing("60", with: "9223372036854775808")
        #expect(try authorization("{\(endless)}").lifetime == .seconds(86_400))
        #expect(try authorization("{\(base)}").userCode == "u\\u{1B}")
    }

    @Test(
        "codes without a page to enter them are refused",
        arguments: ["javascript:alert(1)", "", "https://a/ b", "file:///etc/passwd", "https://a/\\n"])
    func pages(_ page: String) {
        #expect(throws: (any Error).self) {
            try authorization(
                "{\"device_code\":\"d\",\"user_code\":\"u\",\"verification_uri\":\"\(page)\",\"expires_in\":60}")
        }
    }

    @Test("a device polls until the user has allowed it, and slows down when the server demands it")
    func allowed() {
        var machine = DevicePolling(interval: .seconds(5), lifetime: .seconds(100))
        #expect(machine.handle(.started, elapsed: .zero) == .wait(.seconds(5)))
        #expect(machine.handle(.waited, elapsed: .seconds(5)) == .poll)
        #expect(machine.handle(.refused(.authorizationPending), elapsed: .seconds(6)) == .wait(.seconds(5)))
        #expect(machine.handle(.waited, elapsed: .seconds(11)) == .poll)
        #expect(machine.handle(.refused(.slowDown), elapsed: .seconds(12)) == .wait(.seconds(10)))
        #expect(machine.handle(.waited, elapsed: .seconds(22)) == .poll)
        #expect(machine.handle(.unanswered, elapsed: .seconds(30)) == .wait(.seconds(20)))
        #expect(machine.handle(.waited, elapsed: .seconds(50)) == .poll)
        #expect(machine.handle(.granted, elapsed: .seconds(51)) == .succeed)
        #expect(machine.handle(.waited, elapsed: .seconds(52)) == nil)
    }

    @Test("a refusal ends the polling", arguments: [OAuth.Failure.Code.accessDenied, .expiredToken, .invalidClient])
    func refused(_ code: OAuth.Failure.Code) {
        var machine = DevicePolling(interval: .seconds(5), lifetime: .seconds(100))
        _ = machine.handle(.started, elapsed: .zero)
        _ = machine.handle(.waited, elapsed: .seconds(5))
        #expect(machine.handle(.refused(code), elapsed: .seconds(6)) == .fail(code))
        #expect(machine.handle(.granted, elapsed: .seconds(7)) == nil)
    }

    @Test("no request is made after the codes have expired")
    func expired() {
        var short = DevicePolling(interval: .seconds(5), lifetime: .seconds(5))
        #expect(short.handle(.started, elapsed: .zero) == .fail(.expiredToken))
        var late = DevicePolling(interval: .seconds(5), lifetime: .seconds(100))
        _ = late.handle(.started, elapsed: .zero)
        #expect(late.handle(.waited, elapsed: .seconds(101)) == .fail(.expiredToken))
        var slow = DevicePolling(interval: .seconds(50), lifetime: .seconds(100))
        _ = slow.handle(.started, elapsed: .zero)
        _ = slow.handle(.waited, elapsed: .seconds(50))
        #expect(slow.handle(.refused(.authorizationPending), elapsed: .seconds(51)) == .fail(.expiredToken))
        var endless = DevicePolling(
            interval: .seconds(OAuth.Lifetime.longest), lifetime: .seconds(OAuth.Lifetime.longest))
        #expect(endless.handle(.started, elapsed: .zero) == .fail(.expiredToken))
    }

    @Test("an event that does not match the state has no effect")
    func strayEvents() {
        var machine = DevicePolling(interval: .seconds(5), lifetime: .seconds(100))
        for event in [DevicePolling.Event.waited, .granted, .unanswered, .refused(.slowDown)] {
            #expect(machine.handle(event, elapsed: .zero) == nil)
        }
        _ = machine.handle(.started, elapsed: .zero)
        for event in [DevicePolling.Event.started, .granted, .unanswered, .refused(.slowDown)] {
            #expect(machine.handle(event, elapsed: .zero) == nil)
        }
    }

    @Test("a token is renewed at a random time before it expires, and not before half its lifetime")
    func renewal() {
        let rule = TokenRenewal()
        // These random numbers make the random part of the time zero.
        var least = FixedNumbers([1, 1])
        #expect(rule.age(lifetime: .seconds(3600), using: &least) == .seconds(3540))
        #expect(rule.age(lifetime: .seconds(40), using: &least) == .seconds(30))
        #expect(rule.age(lifetime: .zero, using: &least) == .zero)
        var random = SystemRandomNumberGenerator()
        for seconds in [0, 1, 59, 60, 61, 3600, OAuth.Lifetime.longest] {
            let lifetime = Duration.seconds(seconds)
            var ages: Set<Duration> = []
            for _ in 0..<50 {
                let age = rule.age(lifetime: lifetime, using: &random)
                ages.insert(age)
                #expect(age <= lifetime && age >= lifetime / 2)
                #expect(age >= lifetime - .seconds(90))
            }
            #expect(ages.count > 40 || seconds == 0)
        }
    }
}
