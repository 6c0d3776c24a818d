#if Storage || Postgres
internal import Curlew
internal import FoundationEssentials
internal import HTTPTypes

extension TransferRun {
    private static let keptBody = 64 << 10

    func upload(
        _ request: DurableTransfer.Request, _ path: String, _ expected: FileSnapshot?, _ fields: HTTPFields,
        _ options: RequestOptions
    ) async throws -> TransferChange {
        let current = try FileSnapshot(statusOf: path, for: .sending)
        guard current == expected else {
            throw CurlewError(.bodyLengthMismatch, "the file was changed since the upload was enqueued")
        }
        if !request.mayBeRepeated {
            guard try await write(.sending) else { throw lost() }
        }
        let bytes = CallBytes(total: current.size)
        state.withLock { $0.upload = bytes }
        var options = options
        if options.maximumAttempts == nil { options.maximumAttempts = 1 }
        let response = try await session.http.upload(
            .raw(request.url), method: request.method, from: .file(path), fields: fields, options: options
        ) { bytes.advance($0.sent.wire) }
        // Whatever the body is, and wherever it breaks off: the status has said what has come of the upload.
        var body: [UInt8] = []
        do {
            for try await chunk in response.body {
                body += chunk.prefix(Self.keptBody - body.count)
                if body.count >= Self.keptBody { break }
            }
        } catch {}
        guard response.status.kind == .successful else {
            throw UploadRefusal.error(response)
        }
        return .finished(StoredResult(status: response.status.code, fields: response.fields, body: body).encoded)
    }
}

/// The refusal of an upload.
private enum UploadRefusal {
    static func error(_ response: CurlewResponse) -> CurlewError {
        CurlewError(refusal: response, "status \(response.status.code) to an upload")
    }
}

/// The bytes of an upload that have gone.
final class CallBytes: Sendable {
    let total: Int64
    private let count = Guarded<Int64>(0)

    init(total: Int64) { self.total = total }

    var sent: Int64 { count.withLock { $0 } }

    func advance(_ newCount: Int64) { count.withLock { $0 = newCount } }
}
#endif
