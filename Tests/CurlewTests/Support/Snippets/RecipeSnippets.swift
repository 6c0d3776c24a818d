import Curlew
import CurlewTesting
import FoundationEssentials
import Testing

/// The code of the article "Recipes"; `RecipeTests` runs it against a server.
struct RecipeSnippets {
    struct User: Codable, Sendable, Equatable {
        var id: Int
        var fullName: String
    }
    struct Hit: Codable, Sendable, Equatable { var title: String }
    struct NewOrder: Codable, Sendable { var item: String }
    struct Order: Codable, Sendable, Equatable {
        var id: Int
        var item: String
    }
    struct Report: Codable, Sendable, Equatable { var lines: Int }
    struct Delta: Codable, Sendable, Equatable { var text: String }
    struct Prompt: Codable, Sendable { var question: String }
    struct Row: Codable, Sendable, Equatable { var id: Int }
    struct Token: Codable, Sendable, Equatable {
        var accessToken: String
        var expiresIn: Int
    }
    struct Receipt: Codable, Sendable, Equatable { var bytes: Int }
    struct Problem: Codable, Sendable, Equatable { var title: String }
    struct Changes: Codable, Sendable, Equatable { var cursor: String }
    struct UserList: Codable, Sendable {
        var users: [User]
        var cursor: String?
    }
    struct Disc: Sendable {
        var url: String
        var name: String
        var sha256: String
    }

    struct BearerToken: CurlewMiddleware {
        let token: String

        init(_ token: String) { self.token = token }

        func intercept(_ request: Request, next: Next<Request, Response>) async throws -> Response {
            var request = request
            request.fields[.authorization] = "Bearer \(token)"
            return try await next(request)
        }
    }

    // MARK: A client

    static func client(_ base: String, _ token: String) throws -> HTTPSession {
        let api = try HTTPSession(baseURL: base, json: JSONCoding(keys: .snakeCase, dates: .iso8601)) {
            BearerToken(token)
        }
        return api
    }

    // MARK: Calls

    static func user(_ api: HTTPSession, _ id: String) async throws -> User {
        let user = try await api.get("users/\(id)", as: User.self)
        return user
    }

    static func search(
        _ api: HTTPSession, _ text: String, _ page: Int, _ date: Date, _ optionalTag: String?
    ) async throws -> [Hit] {
        let hits = try await api.get(
            "search", parameters: ["q": text, "page": page, "since": date, "tag": optionalTag], as: [Hit].self)
        return hits
    }

    static func order(_ api: HTTPSession, _ newOrder: NewOrder) async throws -> Order {
        let order = try await api.post("orders", .json(newOrder), as: Order.self, timeout: .seconds(5))
        return order
    }

    static func orderOnce(_ api: HTTPSession, _ newOrder: NewOrder) async throws -> Order {
        let once = RequestOptions().setting(\.idempotencyKey, to: .random)
        let order = try await api.post("orders", .json(newOrder), as: Order.self, options: once)
        return order
    }

    static func orders(_ api: HTTPSession) async throws -> ([Order], String?) {
        let (page, response) = try await api.get("orders", as: .valueAndResponse([Order].self))
        let tag = response.fields[.eTag]
        return (page, tag)
    }

    static func delete(_ api: HTTPSession, _ id: Int) async throws {
        try await api.delete("orders/\(id)", as: .nothing)
    }

    static func report(_ api: HTTPSession) async throws -> Report? {
        let response = try await api.get("report")
        switch response.status {
        case .notFound: return nil
        default: return try await response.checked().json(as: Report.self)
        }
    }

    static func text(_ api: HTTPSession) async throws -> String {
        let text = try await api.get("about").text()
        return text
    }

    static func problem(_ api: HTTPSession) async throws -> User? {
        do {
            return try await api.get("users/0", as: User.self)
        } catch let error as CurlewError where error.status == .notFound {
            print(error.failure(as: Problem.self)?.title ?? "no such user")
            return nil
        }
    }

    // MARK: Streams

    static func deltas(_ api: HTTPSession, _ prompt: Prompt) async throws -> String {
        var answer = ""
        for try await delta in api.events("messages", .json(prompt), as: Delta.self, until: "[DONE]") {
            answer += delta.text
        }
        return answer
    }

    static func observed(_ api: HTTPSession, _ id: Int) async throws -> [String] {
        var texts: [String] = []
        for try await delta in api.events("runs/\(id)/events", as: Delta.self) {
            texts.append(delta.text)
        }
        return texts
    }

    static func rows(_ api: HTTPSession) async throws -> Int {
        var sum = 0
        for try await row in api.lines("export.ndjson", as: Row.self) { sum += row.id }
        return sum
    }

    static func pages(_ api: HTTPSession) async throws -> [String] {
        var names: [String] = []
        for try await user in api.pages("users", as: [User].self) { names.append(user.fullName) }
        return names
    }

    static func pagesByCursor(_ api: HTTPSession) async throws -> [String] {
        var names: [String] = []
        let pages = api.pages("people", as: UserList.self, timeout: .seconds(5)) { page, _ in
            page.cursor.map { "people?cursor=\($0)" }
        }
        for try await page in pages { names += page.users.map(\.fullName) }
        return names
    }

    // MARK: Forms and files

    static func token(_ auth: HTTPSession, _ clientID: String) async throws -> Token {
        let token = try await auth.post(
            "oauth/token", .form(["grant_type": "client_credentials", "client_id": clientID]), as: Token.self)
        return token
    }

    static func photo(_ api: HTTPSession, _ path: String) async throws -> Receipt {
        let receipt = try await api.post(
            "photos", .multipart { form in try form.append(file: path, name: "photo") }, as: Receipt.self)
        return receipt
    }

    static func download(
        _ api: HTTPSession, _ folder: String, _ published: String, _ show: @escaping @Sendable (TaskProgress) -> Void
    ) async throws -> DownloadedFile {
        let file = try await api.download(
            "big.iso", to: .folder(folder), integrity: .sha256(published), attempts: 6
        ) { progress in
            show(progress)
        }
        return file
    }

    static func mirror(_ api: HTTPSession, _ discs: [Disc], _ folder: String) async throws {
        try await withThrowingTaskGroup(of: DownloadedFile.self) { group in
            for (index, disc) in discs.enumerated() {
                if index >= 4 { _ = try await group.next() }
                group.addTask {
                    try await api.download(
                        .raw(disc.url), to: .file("\(folder)/\(disc.name)"), integrity: .sha256(disc.sha256),
                        attempts: 6, tokenFile: "\(folder)/\(disc.name).token")
                }
            }
            try await group.waitForAll()
        }
    }

    static func upload(_ api: HTTPSession, _ path: String) async throws -> Receipt {
        let receipt = try await api.upload("recordings", .file(path), as: Receipt.self) { progress in
            print(progress.sent.fraction ?? 0)
        }
        return receipt
    }

    // MARK: Endpoints and links

    static func endpoints(_ api: HTTPSession) async throws -> User {
        let getUser = Endpoint(.get, as: User.self) { (id: Int) in "users/\(id)" }
        let user = try await api.call(getUser, 7)
        return user
    }

    static func stamped(_ base: String, _ requestID: @escaping @Sendable () -> String) throws -> HTTPSession {
        let api = try HTTPSession(baseURL: base) {
            Link { request, next in
                var request = request
                request.fields[HTTPField.Name("X-Request-ID")!] = requestID()
                return try await next(request)
            }
        }
        return api
    }

    static func renewed(_ base: String, _ login: HTTPSession) throws -> HTTPSession {
        let renewal = try CredentialRenewal(
            for: base,
            lifetime: { (token: Token) in .seconds(token.expiresIn) },
            apply: { token, request in request.fields[.authorization] = "Bearer \(token.accessToken)" },
            renew: { _ in
                try await login.post("oauth/token", .form(["grant_type": "client_credentials"]), as: Token.self)
            })
        let api = try HTTPSession(baseURL: base) {
            StandardChain()
            renewal
        }
        return api
    }

    static func cookies(_ base: String, _ user: String, _ password: String) async throws -> String {
        let site = try HTTPSession(baseURL: base, chain: .singleUser)
        try await site.post("login", .form(["user": user, "password": password]), as: .nothing)
        let page = try await site.get("account", as: .text)
        return page
    }

    // MARK: Failure

    static func patient(_ base: String) throws -> HTTPSession {
        var chain = StandardChain.Options()
        chain.retry?.policy.attempts = 5
        chain.retry?.policy.backoff = Retry.Backoff(base: .milliseconds(200), maximum: .seconds(5))
        let api = try HTTPSession(baseURL: base, chain: chain)
        return api
    }

    static func poll(_ api: HTTPSession, since cursor: String) async throws -> Changes? {
        do {
            return try await api.get("changes", parameters: ["since": cursor], as: Changes?.self, timeout: .seconds(90))
        } catch let error as CurlewError where error.isTimeout {
            return nil
        }
    }

    // MARK: Webhooks

    /// Signs the time and the body of each attempt.
    struct WebhookSignature: CurlewMiddleware {
        let sign: @Sendable (_ message: [UInt8]) -> String

        func intercept(_ request: Request, next: Next<Request, Response>) async throws -> Response {
            var request = request
            let body = try await request.body.collect(upTo: .mebibytes(1))
            let time = "\(Int(Date().timeIntervalSince1970))"
            request.body = .bytes(body)
            request.fields[HTTPField.Name("X-Timestamp")!] = time
            request.fields[HTTPField.Name("X-Signature")!] = sign(Array("\(time).".utf8) + body)
            return try await next(request)
        }
    }

    static func webhooks(_ sign: @escaping @Sendable ([UInt8]) -> String) throws -> HTTPSession {
        var configuration = SessionConfiguration()
        configuration.addressPolicy = .publicOnly
        configuration.timeouts = Timeouts(connect: .seconds(3), idle: .seconds(5), total: .seconds(10))
        let hooks = try HTTPSession(configuration: configuration) {
            StandardChain()
            WebhookSignature(sign: sign)
        }
        return hooks
    }

    static func notify(_ hooks: HTTPSession, _ url: String, _ order: Order, _ event: String) async throws {
        let once = RequestOptions().setting(\.idempotencyKey, to: RequestOptions.IdempotencyKey(event))
        try await hooks.post(.raw(url), .json(order), as: .nothing, options: once)
    }

    // MARK: Trust

    static func mutualTLS(_ authorities: String, _ certificate: String, _ key: String) throws -> HTTPSession {
        var policy = SecurityPolicy.anchors(pem: authorities)
        policy.identity = try ClientIdentity(pem: certificate, key: key)
        policy.minimumTLSVersion = .tls13
        let inside = try HTTPSession(
            baseURL: "https://inside.example.com/", configuration: SessionConfiguration(security: policy))
        return inside
    }

    static func pinned(_ pin: String, _ backup: String) throws -> HTTPSession {
        let keys = try SecurityPolicy.PinSet([SecurityPolicy.Pin(pin)], backups: [SecurityPolicy.Pin(backup)])
        let api = try HTTPSession(
            baseURL: "https://api.example.com/", configuration: SessionConfiguration(security: .pinned(keys)))
        return api
    }

    // MARK: Servers

    static func gateway(_ upstream: String) throws -> HTTPSession {
        let gateway = try HTTPSession(baseURL: upstream, chain: .bare)
        return gateway
    }

    static func forward(
        _ method: HTTPRequest.Method, _ target: String, _ fields: HTTPFields, _ body: CurlewRequest.Body,
        through gateway: HTTPSession
    ) async throws -> (HTTPResponse, CurlewResponse.Body) {
        var fields = fields
        for name in [HTTPField.Name.connection, .te, .trailer, .transferEncoding, .upgrade] { fields[name] = nil }
        let response = try await gateway.send(method, .raw(target), .body(body), fields: fields)
        return (response.head, response.body)
    }

    static func end(_ api: HTTPSession) async {
        await api.shutdown(deadline: .seconds(20))
    }

    // MARK: Tests

    static func stubbed() async throws -> [User] {
        let stub = StubTransport()
        stub.on(.get, "/users/7", answer: try .json(["id": 7]))
        let api = try HTTPSession(baseURL: "https://api.example.com/", transport: stub)
        let user = try await api.get("users/\(7)").json(as: [String: Int].self)
        return user["id"].map { [User(id: $0, fullName: "")] } ?? []
    }
}
