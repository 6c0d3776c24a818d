#if Service
public import Curlew
public import NIOCore

extension HTTPSession.Forwarding.Answer {
    /// Relays the bytes of a connection that the upstream has switched to another protocol, in both directions, until
    /// both sides have ended. The method is called after the head of the answer, with its status 101, was sent.
    ///
    /// Neither side is read faster than the other side accepts bytes. The end of one side is passed on. If the
    /// upstream's connection has TLS, the end of the client's side closes it. The upstream's connection is always
    /// closed when the method returns.
    ///
    /// ```swift
    /// let answer = try await upstream.forward(head, body: body, as: rules)
    /// try await outbound.write(.head(HTTPResponse(status: answer.status, headerFields: answer.fields)))
    /// // The server takes its HTTP handlers off the channel.
    /// try await answer.relay(inbound) { try await outbound.write($0) } finish: { outbound.finish() }
    /// ```
    /// - Parameters:
    ///   - inbound: The client's bytes after its request.
    ///   - write: A closure that sends bytes to the client. It returns when more bytes may be sent.
    ///   - finish: A closure that ends the side towards the client.
    /// - Throws: The errors of `inbound`, `write` and `finish`. A ``Curlew/CurlewError`` if the upstream's connection
    ///   fails, with ``Curlew/ErrorCode/cancelled`` if the task is cancelled, and with
    ///   ``Curlew/ErrorCode/invalidRequest`` if ``upgraded`` is nil.
    public func relay<Inbound: AsyncSequence & Sendable>(
        _ inbound: Inbound, write: @escaping @Sendable (ByteBuffer) async throws -> Void,
        finish: @escaping @Sendable () async throws -> Void
    ) async throws where Inbound.Element == ByteBuffer {
        guard let upgraded else {
            throw CurlewError(.invalidRequest, "the upstream has not switched to another protocol")
        }
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for try await buffer in inbound { try await upgraded.write(Array(buffer: buffer)) }
                    try Task.checkCancellation()
                    guard upgraded.canFinish else { throw ClientHasLeft() }
                    try await upgraded.finish()
                }
                group.addTask {
                    for try await bytes in upgraded { try await write(ByteBuffer(bytes: bytes)) }
                    try await finish()
                }
                // The first error ends the other direction.
                while try await group.next() != nil {}
            }
        } catch is ClientHasLeft {
            await upgraded.close()
        } catch {
            await upgraded.close()
            throw error is CancellationError ? CurlewError(.cancelled, "the task was cancelled") : error
        }
        await upgraded.close()
    }
}

/// The end of the client's side, which cannot be passed on.
private struct ClientHasLeft: Error {}
#endif
