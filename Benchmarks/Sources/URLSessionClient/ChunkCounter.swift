internal import BenchmarkKit
internal import Foundation
internal import FoundationNetworking
internal import Synchronization

/// A delegate that receives a body piece by piece: on Linux URLSession has no asynchronous sequence of bytes.
final class ChunkCounter: NSObject, URLSessionDataDelegate, Sendable {
    private let received = Atomic<Int>(0)
    private let continuation: CheckedContinuation<Int, any Error>

    private init(_ continuation: CheckedContinuation<Int, any Error>) { self.continuation = continuation }

    /// Fetches `url` and returns the size of its body.
    /// - Parameter session: The session whose configuration is used; a delegate needs its own session.
    static func count(_ url: URL, session: URLSession) async throws -> Int {
        try await withCheckedThrowingContinuation { continuation in
            let own = URLSession(
                configuration: session.configuration, delegate: ChunkCounter(continuation), delegateQueue: nil)
            own.dataTask(with: url).resume()
            own.finishTasksAndInvalidate()
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        received.add(data.count, ordering: .relaxed)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let status = (task.response as? HTTPURLResponse)?.statusCode ?? 0
        if let error {
            continuation.resume(throwing: error)
        } else if status != 200 {
            continuation.resume(throwing: BenchmarkError.status(status))
        } else {
            continuation.resume(returning: received.load(ordering: .relaxed))
        }
    }
}
