import CurlewTesting
import HTTPTypes

@testable import CurlewCore

/// The server's side of Digest: it creates nonces, checks answers, and accepts each count of a nonce once.
actor DigestGuard {
    /// The server's policy for new nonces.
    enum Habit: Sendable {
        /// A single nonce without an end.
        case keeps
        /// A nonce serves this number of requests; then it is stale.
        case expires(after: Int)
        /// A nonce serves this number of requests, and expires without the flag `stale`.
        case expiresSilently(after: Int)
        /// Each answer announces the next nonce, which is then the only valid one.
        case announces
        /// Every answer is stale.
        case isNeverContent
    }

    private let name: String
    private let habit: Habit
    private let quality: String
    private let algorithm: MessageDigest.Algorithm
    private var number = 0
    private var uses = 0
    private var counts: Set<String> = []
    private(set) var challengesSent = 0
    private(set) var seenCounts: [String] = []

    /// - Parameter name: The first part of its nonces.
    init(
        _ habit: Habit = .keeps, name: String = "nonce", quality: String = "auth",
        algorithm: MessageDigest.Algorithm = .sha256
    ) {
        self.name = name
        self.habit = habit
        self.quality = quality
        self.algorithm = algorithm
    }

    private var nonce: String { "\(name)-\(number)" }

    func answer(_ request: InboundRequest) async throws -> MockResponse {
        let body = try await request.body.collect()
        guard let value = request.fields[.authorization] else { return challenge(isStale: false) }
        let sent = ChallengeAuthentication.Challenge.all(in: value).first?.parameters ?? [:]
        guard try isRight(sent, request, body) else { return challenge(isStale: false) }
        switch habit {
        case .isNeverContent:
            number += 1
            return challenge(isStale: true)
        case .expires(let limit) where uses >= limit, .expiresSilently(let limit) where uses >= limit:
            number += 1
            uses = 0
            if case .expires = habit { return challenge(isStale: true) }
            return challenge(isStale: false)
        default: break
        }
        guard sent["nonce"] == nonce else { return challenge(isStale: true) }
        guard counts.insert("\(nonce) \(sent["nc"] ?? "")").inserted else {
            return MockResponse(status: .badRequest, body: "a count was used twice")
        }
        uses += 1
        seenCounts.append(sent["nc"] ?? "")
        var response = MockResponse(body: .bytes(body))
        if case .announces = habit {
            number += 1
            response.fields[.authenticationInfo] = "nextnonce=\"\(nonce)\", qop=auth"
        }
        return response
    }

    private func challenge(isStale: Bool) -> MockResponse {
        challengesSent += 1
        var value = "Digest realm=\"birds\", nonce=\"\(nonce)\", qop=\"\(quality)\", opaque=\"o\""
        value += ", algorithm=\(algorithm == .md5 ? "MD5" : "SHA-256")"
        if isStale { value += ", stale=true" }
        return MockResponse(status: .unauthorized, fields: [.wwwAuthenticate: value], body: "who is there?")
    }

    private func isRight(_ sent: [String: String], _ request: InboundRequest, _ body: [UInt8]) throws -> Bool {
        func hash(_ text: String) throws -> String { try MessageDigest.hash(text, by: algorithm) }
        guard sent["username"] == "user", sent["realm"] == "birds", sent["uri"] == request.target else { return false }
        let secret = try hash("user:birds:pass word")
        var message = "\(request.method):\(request.target)"
        if sent["qop"] == "auth-int" { message += ":" + (try hash(String(decoding: body, as: UTF8.self))) }
        let text = [
            secret, sent["nonce"] ?? "", sent["nc"] ?? "", sent["cnonce"] ?? "", sent["qop"] ?? "", try hash(message),
        ]
        return try sent["qop"] == quality && sent["response"] == hash(text.joined(separator: ":"))
    }
}
