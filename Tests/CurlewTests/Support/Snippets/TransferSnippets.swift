import Curlew

/// The code of Transfers.md, so that it compiles. ``DocumentationTests`` compares the two.
enum TransferSnippets {
    private func save(_ api: HTTPSession) async throws {
        let response = try await api.get("https://example.com/archive.tar.gz")
        let file = try await response.save(to: .folder("/srv/inbox"))
        print(file.path, file.size)
    }

    private func destinations() -> Destination {
        var destination = Destination.chosen { head, name in
            "/srv/inbox/\(head.status.code)-\(name)"
        }
        destination.existing = .unique
        destination.createsFolders = true
        destination.synchronizes = true
        return destination
    }

    private func check(_ response: CurlewResponse, _ published: String) async throws -> DownloadedFile {
        let integrity = IntegrityRequirement(length: 1_048_576, digest: try ContentDigest(hex: published))
        let checked = try await response.save(to: .file("/srv/inbox/archive.tar.gz"), integrity: integrity)
        return checked
    }

    private func download(_ api: HTTPSession, _ published: String) async throws {
        var download = DownloadTask.Options()
        download.retries.attempts = 6
        download.integrity.digest = try ContentDigest(hex: published)
        let disc = try await api.download("disc.iso", to: .folder("/srv/inbox"), download: download)
        print(disc.path, disc.digest as Any)
    }

    private func steer(_ api: HTTPSession) async throws -> DownloadedFile {
        let task = try api.downloadTask("disc.iso", to: .folder("/srv/inbox"))
        task.resume()
        for await progress in task.progress {
            print(progress.received.fraction ?? 0)
        }
        let result = try await task.file()
        return result
    }

    private func goOn(_ api: HTTPSession) async throws {
        do {
            _ = try await api.download("disc.iso", to: .folder("/srv/inbox"))
        } catch let error as CurlewError {
            guard let token = error.resumeToken else { throw error }
            _ = try await api.download(resuming: token)
        }
    }

    private func outlive(_ api: HTTPSession, _ published: String) async throws {
        let kept = try await api.download(
            "disc.iso", to: .file("/var/lib/mirror/disc.iso"), integrity: .sha256(published),
            tokenFile: "/var/lib/mirror/disc.token")
        print(kept.path)
    }

    private func decide(_ api: HTTPSession) async throws {
        var options = RequestOptions()
        options.onResponse = { head, _ in
            switch head.headerFields[.contentType] {
            case "application/zip": .download(.folder("/srv/inbox"))
            case "text/html": .cancel
            default: .allow
            }
        }
        let answer = try await api.get("reports/latest", options: options)
        if let file = answer.file { print(file.path) }
    }

    struct Report: Codable, Sendable { var id: Int }

    private func upload(_ api: HTTPSession) async throws -> Report {
        let report = try await api.upload(
            "recordings", .file("/srv/recordings/1.wav"), method: .put, as: Report.self
        ) { progress in
            print(progress.sent.fraction ?? 0)
        }
        return report
    }

    private func limited(
        _ api: HTTPSession, _ tasks: AsyncStream<TaskActor>.Continuation
    ) async throws -> CurlewResponse {
        var options = RequestOptions()
        options.rateLimit = RateLimit(sending: .kibibytes(256))
        options.onTask = { task in tasks.yield(task) }
        let response = try await api.put("backups/today", .file("/srv/backup.tar"), options: options)
        return response
    }

    private func steer(_ session: SessionActor, _ task: TaskActor) {
        session.setRateLimit(RateLimit(sending: .mebibytes(1), receiving: .mebibytes(8)))
        task.setRateLimit(RateLimit(receiving: .kibibytes(64)))
        task.setRateLimit(.none)
    }

    private func listen(_ session: SessionActor) async {
        for await event in session.events {
            switch event.kind {
            case .completed:
                print(event.task?.tag ?? "", event.response?.status.code ?? 0, event.metrics?.duration ?? .zero)
            case .serialized: print(event.serialization?.serializer ?? "", event.error?.code ?? "no error")
            default: break
            }
        }
    }
}
