import Curlew

/// The code of the articles "Coming from …", so that it compiles. ``DocumentationTests`` compares the two.
enum ComparisonSnippets {
    struct User: Codable, Sendable { var id: Int }
    struct Order: Codable, Sendable { var item: String }
    struct Login: Codable, Sendable { var token: String }

    // MARK: ComingFromAlamofire.md

    private func value(_ api: HTTPSession) async throws {
        let user = try await api.get("users/7", parameters: ["fields": "name"], as: User.self)
        print(user)
    }

    private func order(_ api: HTTPSession, _ order: Order) async throws {
        let saved = try await api.post("orders", .json(order), as: Order.self, timeout: .seconds(10))
        print(saved)
    }

    private func renewed() throws -> HTTPSession {
        let auth = try HTTPSession(baseURL: "https://auth.example.com/")
        let api = try HTTPSession(baseURL: "https://api.example.com/") {
            StandardChain()
            try CredentialRenewal(
                for: "https://api.example.com",
                bearer: { (login: Login) in login.token },
                renew: { _ in try await auth.post("token", .form(["grant_type": "refresh"]), as: Login.self) })
        }
        return api
    }

    private func multipart(_ api: HTTPSession) async throws {
        let content = CurlewRequest.Content.multipart { form in
            form.append("Curlew", name: "title")
            try form.append(file: "/srv/photo.jpg", name: "photo", contentType: "image/jpeg")
        }
        let user = try await api.upload("photos", content, as: User.self) { progress in
            print(progress.sent.fraction ?? 0)
        }
        print(user)
    }

    private func download(_ api: HTTPSession, _ published: String) async throws {
        let file = try await api.download(
            "big.iso", to: .file("/srv/inbox/big.iso"), integrity: .sha256(published), tokenFile: "/srv/inbox/big.token"
        )
        print(file.path, file.size)
    }

    // MARK: ComingFromAsyncHTTPClient.md

    private func collected(_ api: HTTPSession) async throws {
        let response = try await api.get("report", timeout: .seconds(30))
        let body = try await response.body.collect(upTo: .mebibytes(1))
        print(response.status, body.count)
    }

    private func streamed(_ api: HTTPSession) async throws {
        let response = try await api.get("export")
        for try await line in response.body.lines() { print(line) }
    }

    private func sent(_ api: HTTPSession, _ rows: AsyncStream<String>) async throws {
        let response = try await api.post("rows", .body(.once(rows.map { Array($0.utf8) }), type: "text/csv"))
        print(response.status)
    }

    private func configured() throws -> HTTPSession {
        var configuration = SessionConfiguration()
        configuration.connections.perHost = 16
        configuration.timeouts.connect = .seconds(3)
        configuration.proxy = .proxy(try Proxy("http://proxy.example.com:3128"))
        let api = try HTTPSession(baseURL: "https://api.example.com/", configuration: configuration)
        return api
    }

    private func ended(_ api: HTTPSession) async throws {
        await api.shutdown(deadline: .seconds(10))
    }

    // MARK: ComingFromURLSession.md

    private func data(_ api: HTTPSession) async throws {
        let data = try await api.get("users/7", as: .data)
        print(data.count)
    }

    private func request(_ api: HTTPSession, _ order: Order) async throws {
        let order = try await api.put("orders/7", .json(order), as: Order.self, fields: [.xRequestID: "4711"])
        print(order)
    }

    private func pinned() throws -> HTTPSession {
        var configuration = SessionConfiguration()
        let key = try SecurityPolicy.Pin("sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")
        configuration.security = .pinned(SecurityPolicy.PinSet([key]))
        let api = try HTTPSession(baseURL: "https://api.example.com/", configuration: configuration)
        return api
    }

    private func progress(_ api: HTTPSession) async throws {
        let file = try await api.download("film.mp4", to: .folder("/srv/films")) { progress in
            print(progress.received.fraction ?? 0)
        }
        print(file.path)
    }

    private func cancelled(_ api: HTTPSession) async throws {
        let task = Task { try await api.get("slow", as: .text) }
        task.cancel()
        do {
            print(try await task.value)
        } catch let error as CurlewError where error.isCancellation {
            print("cancelled")
        }
    }
}

extension ComparisonSnippets {
    // MARK: ProductionChecklist.md

    private func answer(_ api: HTTPSession) async throws -> (User, [Order]) {
        let answer = try await withDeadline(.seconds(2), field: HTTPField.Name("X-Deadline-Milliseconds")) {
            async let user = api.get("users/7", as: User.self)
            async let orders = api.get("users/7/orders", as: [Order].self)
            return try await (user, orders)
        }
        return answer
    }
}

extension ComparisonSnippets {
    typealias BearerToken = ReadmeSnippets.BearerToken

    // MARK: WhichLinkGoesWhere.md

    private func placed(_ listener: any CallListener, _ token: String) throws -> HTTPSession {
        let api = try HTTPSession(baseURL: "https://api.example.com/") {
            CallListening(listener)  // once a call
            BearerToken(token: token)  // once a call; redirects to another origin take the token off
            StandardChain()
            CircuitBreaker()  // once an attempt
        }
        return api
    }
}
