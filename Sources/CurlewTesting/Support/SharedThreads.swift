#if TestKit
internal import Curlew
internal import NIOPosix

/// The threads that are shared by all servers of this module and by all sessions without their own loop. They live as
/// long as the process.
package enum SharedThreads {
    /// Starts the threads unless they run, so that the leak check blames no test for them.
    package static func start() {
        _ = MultiThreadedEventLoopGroup.singleton.next()
        _ = try? CurlewEventLoop.shared
    }
}
#endif
