internal import HTTPTypes

/// What is to become of a response, or has become of it. As large as a reference: each response has one.
enum ResponseLanding: Sendable {
    /// It is the caller's.
    case open
    /// Nobody has decided yet.
    case undecided(DispositionGate)
    /// Its body was written into a file.
    case landed(Box)

    final class Box: Sendable {
        let file: DownloadedFile

        init(_ file: DownloadedFile) { self.file = file }
    }
}

extension Response {
    /// The file that the body was written into, if ``RequestOptions/onResponse`` wanted that.
    public var file: DownloadedFile? {
        if case .landed(let box) = landing { box.file } else { nil }
    }

    /// The response as it goes to the caller, decided upon if that is still to be done.
    func decided() async throws -> Response {
        guard case .undecided(let gate) = landing else { return self }
        var response = self
        response.landing = .open
        return try await gate.pass(response)
    }

    /// Asks what is to become of it, and does that.
    func disposed(
        by decide: @Sendable (HTTPResponse, TaskActor?) async throws -> ResponseDisposition
    ) async throws -> Response {
        let disposition: ResponseDisposition
        do {
            disposition = try await decide(head, task)
        } catch {
            body.abandon()
            throw error
        }
        switch disposition.kind {
        case .allow: return self
        case .cancel:
            body.abandon()
            let context = CurlewError.Context(
                method: task?.request.method, uri: uri, stage: .receiving, response: head, attempts: attempts,
                history: history)
            throw CurlewError(.cancelled, "the response was not wanted", context: context)
        case .download(let destination, let integrity):
            guard status.kind == .successful else { return self }
            task?.becomeDownload()
            var response = self
            response.landing = .landed(ResponseLanding.Box(try await save(to: destination, integrity: integrity)))
            response.body = .bytes([])
            return response
        }
    }
}
