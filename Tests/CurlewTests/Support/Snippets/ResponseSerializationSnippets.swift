import Curlew
import FoundationEssentials

/// The code of ResponseSerialization.md, so that it compiles. ``DocumentationTests`` compares the two.
enum ResponseSerializationSnippets {
    typealias User = ReadmeSnippets.User
    typealias BearerToken = ReadmeSnippets.BearerToken

    struct Problem: Codable, Sendable { var title: String }

    private func oneCall(_ api: HTTPSession) async throws {
        let user = try await api.get("users/7", as: .json(User.self))
        let page = try await api.get("about", as: .text)
        print(user, page)
    }

    struct Bird: Codable, Sendable { var name: String }

    private func parametersAndValues(_ api: HTTPSession) async throws {
        let waders = try await api.get("birds", parameters: ["family": "Scolopacidae"], as: .json([Bird].self))
        let saved = try await api.post(
            "birds", .json(waders[0]), as: Bird.self)
        print(saved)
    }

    private func endpoint(_ api: HTTPSession) async throws {
        let getUser = Endpoint(.get, as: User.self) { (id: Int) in "users/\(id)" }
        print(try await api.call(getUser, 7).name)
    }

    private func endpointWithArgument(_ api: HTTPSession) async throws {
        let create = Endpoint(.post, as: User.self) { (user: User) in .init("users", .json(user)) }
        let created = try await api.call(create, User(id: 7, name: "Numenius"))
        print(created)
    }

    private func byItself(_ response: CurlewResponse) async throws {
        let value = try await JSONResponseSerializer<JSONValue>().serialize(response)
        print(value["name"]?.stringValue ?? "nameless")
    }

    private func acceptance(_ api: HTTPSession) async throws {
        var serializer = JSONResponseSerializer<User>()
        serializer.acceptance.contentTypes = .any
        serializer.acceptance.statuses = .ranges(200...299, 304...304)
        serializer.acceptance.bodyLimit = .kibibytes(512)
        let user = try await api.get("users/7", as: serializer)
        print(user)
    }

    private func failure(_ api: HTTPSession) async throws -> User {
        do {
            return try await api.get("users/7", as: User.self)
        } catch let error as CurlewError {
            if let problem = error.failure(as: Problem.self) { print(problem.title) }
            throw error
        }
    }

    private func typedFailure(_ api: HTTPSession) async throws {
        let serializer = JSONResponseSerializer<User>().orFailure(Problem.self)
        let user = try await api.get("users/7", as: serializer)
        print(user)
    }

    private func configured() -> JSONResponseSerializer<User> {
        let serializer = JSONResponseSerializer<User>(coding: JSONCoding(keys: .snakeCase))
        return serializer
    }

    private func compound() -> ResponseSerializers.Compound<String> {
        let serializer = ResponseSerializers.Compound([
            JSONResponseSerializer<User>().map { "\($0.id): \($0.name)" },
            ResponseSerializers.Text(),
        ])
        return serializer
    }

    private func lines(_ api: HTTPSession) async throws {
        let response = try await api.get("users/export")
        for try await user in response.body.ndjson(as: User.self) { print(user.name) }
    }

    private func events(_ api: HTTPSession) async throws {
        for await event in try api.eventSource("prices") {
            switch event {
            case .open: print("open")
            case .message(let message): print(message.type, message.data)
            case .error(let error, let isClosed): print(error, isClosed ? "for good" : "for now")
            }
        }
    }

    struct CSVResponseSerializer: BodyResponseSerializer {
        var acceptance = ResponseAcceptance(.types(ContentType("text", "csv")))
        var format: String { "CSV" }

        func decode(_ response: CurlewResponse.Collected) throws -> [[String]] {
            let text = String(decoding: response.body, as: UTF8.self)
            return text.split(separator: "\n").map { $0.split(separator: ";").map(String.init) }
        }
    }
}
