import Curlew

/// The code of ResumableUploads.md, so that it compiles. ``DocumentationTests`` compares the two.
enum UploadSnippets {
    private struct Backend {
        func presign(_ step: MultipartUpload.Step) async throws -> String { "https://example.com/\(step)" }
    }

    private func automatic(_ api: HTTPSession) async throws {
        let response = try await api.upload(file: "/data/film.mp4", to: "films", resumable: .automatic)
        await response.discard()
    }

    private func parts(_ api: HTTPSession) async throws {
        var upload = ResumableUpload.Options()
        upload.parallelParts = 4
        upload.checksParts = true
        upload.metadata = ["filename": "film.mp4"]
        upload.tokenFile = "/var/lib/example/film.token"
        let response = try await api.upload(file: "/data/film.mp4", to: "films", resumable: .tus, upload: upload) {
            print($0.confirmed, $0.sent, $0.total)
        }
        await response.discard()
    }

    private func later(_ api: HTTPSession) async throws {
        var upload = ResumableUpload.Options()
        upload.tokenFile = "/var/lib/example/film.token"
        upload.token = try await UploadToken(contentsOf: "/var/lib/example/film.token")
        let response = try await api.upload(file: "/data/film.mp4", to: "films", resumable: .automatic, upload: upload)
        await response.discard()
    }

    private func multipart(_ http: HTTPSession, _ backend: Backend) async throws {
        let multipart = MultipartUpload { step in try await backend.presign(step) }
        let receipt = try await http.upload(file: "/data/film.mp4", multipart: multipart)
        print(receipt.entityTag ?? "")
    }
}
