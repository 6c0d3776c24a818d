#if TestKit
internal import Curlew
internal import NIOPosix

/// The threads that all servers of this module, and all sessions without a loop of their own, share and that live as
/// long as the process.
package enum SharedThreads {
    /// Starts them if they do not run yet, so that no test is blamed for them.
    package static func start() {
        _ = MultiThreadedEventLoopGroup.singleton.next()
        _ = try? CurlewEventLoop.shared
    }
}
#endif
