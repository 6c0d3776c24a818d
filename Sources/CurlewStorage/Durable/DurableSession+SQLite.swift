#if Storage
public import Curlew

extension DurableSession {
    /// Opens a queue; makes it if it is not there.
    /// - Parameters:
    ///   - identifier: The name of the queue in its folder: 1 to 64 letters, digits, dots, hyphens and underscores.
    ///   - folder: The folder, on a local file system. It is made, for its owner alone, if it is not there; nobody else may write to it.
    ///   - http: What the transfers are sent by.
    ///   - options: How they are run.
    /// - Throws: ``Curlew/CurlewError``: ``Curlew/ErrorCode/queueFailed`` for a queue that cannot be used, such as one that a newer version
    ///   has made. One that is damaged is moved aside (``damagedQueue``), and a new one begun; files stay as they are.
    public convenience init(
        identifier: String, folder: String, http: HTTPSession, options: Options = Options()
    ) async throws {
        let store = try await SQLiteTransferStore.open(folder: folder, identifier: identifier)
        self.init(store: store, http: http, options: options, damagedQueue: store.movedAside)
    }
}
#endif
