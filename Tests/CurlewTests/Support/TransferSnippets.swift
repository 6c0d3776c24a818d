import Curlew
import HTTPTypes

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

    private func check(_ response: Response, _ published: String) async throws -> DownloadedFile {
        let integrity = Integrity(length: 1_048_576, digest: ContentDigest(hex: published))
        let checked = try await response.save(to: .file("/srv/inbox/archive.tar.gz"), integrity: integrity)
        return checked
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
}
