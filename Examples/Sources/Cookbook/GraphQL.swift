import Curlew

private struct Query<Variables: Encodable & Sendable>: Encodable, Sendable {
    let query: String
    let variables: Variables
}

private struct Answer<Value: Decodable & Sendable>: Decodable, Sendable {
    let data: Value?
    let errors: [GraphQLFailure]?
}

/// An error that a GraphQL server reports with status 200.
public struct GraphQLFailure: Error, Decodable { public let message: String }

private struct BirdAnswer: Decodable, Sendable {
    struct Bird: Decodable, Sendable { let name: String }
    let bird: Bird?
}

/// A query of GraphQL with variables. Its errors are thrown, though their status is 200.
public func nameOfBird(_ id: Int, at base: String) async throws -> String? {
    let api = try HTTPSession(baseURL: base)
    let query = Query(query: "query($id: ID!) { bird(id: $id) { name } }", variables: ["id": id])
    let answer = try await api.post("graphql", .json(query), as: Answer<BirdAnswer>.self)
    if let failure = answer.errors?.first { throw failure }
    return answer.data?.bird?.name
}
