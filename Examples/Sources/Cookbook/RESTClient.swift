import Curlew
import Foundation

/// A client of a REST API: models, endpoints, pages, and the API's own words for a failure.
public struct RepositoryClient: Sendable {
    private struct Repository: Decodable, Sendable {
        let fullName: String
        let pushedAt: Date
    }

    private struct NewIssue: Encodable, Sendable {
        let issueTitle: String
        let dueOn: Date
    }

    private struct Issue: Decodable, Sendable { let number: Int }
    private struct Problem: Decodable, Sendable { let message: String }

    private static let repository = Endpoint(.get, as: Repository.self) { (owner: String, name: String) in
        "repos/\(owner)/\(name)"
    }
    private static let open = Endpoint(.post, as: Issue.self) { (issue: NewIssue) in .init("issues", .json(issue)) }

    private let api: HTTPSession

    public init(at base: String, token: String) throws {
        api = try HTTPSession(baseURL: base, credential: .bearer(token), json: JSONCoding(keys: .snakeCase))
    }

    /// The time of the last push; nil for a repository that does not exist.
    public func lastPush(_ owner: String, _ name: String) async throws -> Date? {
        do {
            return try await api.call(Self.repository, (owner, name)).pushedAt
        } catch let error as CurlewError where error.status == .notFound {
            print(error.failure(as: Problem.self)?.message ?? "no such repository")
            return nil
        }
    }

    /// The names of all repositories, from as many pages as there are.
    public func names() async throws -> [String] {
        var names: [String] = []
        for try await repository in api.pages("repos", query: ["per_page": 2], as: [Repository].self) {
            names.append(repository.fullName)
        }
        return names
    }

    public func openIssue(_ title: String, due: Date) async throws -> Int {
        try await api.call(Self.open, NewIssue(issueTitle: title, dueOn: due)).number
    }
}
