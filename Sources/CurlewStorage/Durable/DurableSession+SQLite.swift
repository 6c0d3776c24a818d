#if Storage
public import Curlew

extension DurableSession {
    /// Opens a queue, and makes it if it does not exist.
    /// - Parameters:
    ///   - identifier: The name of the queue in its folder: 1 to 64 letters, digits, dots, hyphens and underscores.
    ///   - folder: The folder, on a local file system. If it does not exist, it is made, accessible only to its owner;
    ///     no other user may write to it.
    ///   - http: The client that sends the transfers.
    ///   - options: The options of the session.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/queueFailed`` for a queue that cannot be used, such as
    ///   one of a newer version. A damaged queue is moved aside (``damagedQueue``) and a new one is made; its files
    ///   stay unchanged.
    public convenience init(
        identifier: String, folder: String, http: HTTPSession, options: Options = Options()
    ) async throws {
        let store = try await SQLiteTransferStore.open(folder: folder, identifier: identifier)
        self.init(store: store, http: http, options: options, damagedQueue: store.movedAside)
    }
}
#endif
