import Curlew

private struct Prompt: Encodable, Sendable {
    let prompt: String
    let stream = true
}

private struct Delta: Decodable, Sendable { let text: String }

/// The answer of a chat, shown while it is written (server-sent events). The stream ends when the calling task is
/// cancelled, or when `isEnough` returns true.
public func chat(
    _ question: String, at base: String, token: String, isEnough: (String) -> Bool = { _ in false },
    show: (String) -> Void
) async throws -> String {
    let api = try HTTPSession(baseURL: base, credential: .bearer(token))
    var answer = ""
    let deltas = api.events("messages", .json(Prompt(prompt: question)), as: Delta.self, until: "[DONE]")
    for try await delta in deltas {
        show(delta.text)
        answer += delta.text
        if isEnough(answer) { break }
    }
    return answer
}
