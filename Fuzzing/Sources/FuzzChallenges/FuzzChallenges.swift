internal import FuzzingKit
internal import HTTPTypes

@testable internal import CurlewCore
@testable internal import CurlewSupport

/// A fuzz target for challenges. Each field's challenges must be within their bounds and valid, and equal after writing
/// and reading.
@main
struct FuzzChallenges: FuzzTarget {
    static func check(_ input: [UInt8]) {
        var head = HTTPResponse(status: .unauthorized)
        for line in input.split(separator: 0x0A, maxSplits: 20) {
            let value = String(decoding: line, as: UTF8.self)
            let challenges = ChallengeAuthentication.Challenge.all(in: value)
            challenges.forEach(check)
            let written = challenges.map(written).joined(separator: ", ")
            requireEqual(
                ChallengeAuthentication.Challenge.all(in: written), challenges,
                "challenges are others when they are read again")
            head.headerFields.append(HTTPField(name: .wwwAuthenticate, value: value))
        }
        require(
            ChallengeAuthentication.Challenge.all(in: head).count <= ChallengeAuthentication.Challenge.limit,
            "there are too many challenges")
    }

    private static func check(_ challenge: ChallengeAuthentication.Challenge) {
        let names = [challenge.scheme.rawValue] + challenge.parameters.keys
        for name in names {
            require(!name.isEmpty && name.utf8.allSatisfy(\.isTokenByte), "a name is no token: \(name)")
            require(!name.utf8.contains { (0x41...0x5A).contains($0) }, "a name is not in lower case: \(name)")
        }
        require(
            challenge.parameters.count <= ChallengeAuthentication.Challenge.parameterLimit,
            "there are too many parameters")
        if let token = challenge.token68 {
            require(
                !token.isEmpty && token.utf8.allSatisfy { $0.isToken68Byte || $0 == .equals }, "no token68: \(token)")
        }
        if let digest = DigestChallenge(challenge) {
            requireEqual(digest.nonce, challenge.parameters["nonce"], "the nonce is another")
            let offered = (challenge.parameters["qop"] ?? "").lowercased().split {
                $0 == "," || $0 == " " || $0 == "\t"
            }
            let isKnown = offered.contains { $0 == "auth" || $0 == "auth-int" }
            requireEqual(digest.quality != nil, isKnown, "a known quality is not used, or there is none")
            require(digest.quality != nil || !digest.algorithm.isSession, "a session has no nonce of the client")
        }
    }

    /// Escapes scalar by scalar, because a quote followed by a combining mark is a single character.
    private static func escaped(_ value: String) -> String {
        var text = ""
        for scalar in value.unicodeScalars {
            if scalar == "\\" || scalar == "\"" { text.unicodeScalars.append("\\") }
            text.unicodeScalars.append(scalar)
        }
        return text
    }

    private static func written(_ challenge: ChallengeAuthentication.Challenge) -> String {
        let parameters = challenge.parameters.map { name, value in
            "\(name)=\"\(escaped(value))\""
        }
        let parts = (challenge.token68.map { [$0] } ?? []) + parameters
        return ([challenge.scheme.rawValue] + [parts.joined(separator: ", ")].filter { !$0.isEmpty })
            .joined(separator: " ")
    }
}
