import Foundation
import Glibc

/// The resources of the process.
struct Resources: Sendable, CustomStringConvertible {
    /// The resident memory in bytes.
    var memory: Int
    var descriptors: Int
    var threads: Int
    /// Threads of the session's loop.
    var loops: Int

    static let loopName = "soak-loop"
    /// The version of the libcurl that Curlew has loaded (`curl_version`).
    static var libcurl: String {
        guard let symbol = dlsym(nil, "curl_version") else { return "unknown" }
        typealias Version = @convention(c) () -> UnsafePointer<CChar>
        return String(cString: unsafeBitCast(symbol, to: Version.self)())
    }

    static func now() -> Resources {
        let pages = text("/proc/self/statm").split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        let threads = entries("/proc/self/task")
        return Resources(
            memory: pages * sysconf(Int32(_SC_PAGESIZE)),
            // Reading the list needs a descriptor itself.
            descriptors: max(0, entries("/proc/self/fd").count - 1), threads: threads.count,
            loops: threads.count { text("/proc/self/task/\($0)/comm").hasPrefix(loopName) })
    }

    /// The resources once they do not shrink any more, or after a while: idle threads live for some seconds, and
    /// threads of look-ups as long as these take.
    static func settled(to before: Resources) async -> Resources {
        let end = ContinuousClock.now + .seconds(20)
        var left = now()
        // The end of a thread or of a descriptor has no event.
        while !left.excess(over: before).isEmpty, ContinuousClock.now < end {
            try? await Task.sleep(for: .milliseconds(100))
            left = now()
        }
        return left
    }

    /// The leaked resources as text.
    func excess(over before: Resources) -> [String] {
        // Dispatch creates a timer per clock when a task first sleeps by it, and keeps the timer and its epoll.
        let descriptorLimit = before.descriptors + 6
        // Swift's pool has a thread per processor, Dispatch some more.
        let threadLimit = before.threads + sysconf(Int32(_SC_NPROCESSORS_ONLN)) + 4
        var excess: [String] = []
        if descriptors > descriptorLimit {
            excess.append("\(descriptors) descriptors are open; before it were \(before.descriptors)")
        }
        if threads > threadLimit { excess.append("there are \(threads) threads; before it were \(before.threads)") }
        if loops > 0 { excess.append("the session's loop runs still") }
        return excess
    }

    var description: String { "\(memory >> 20) MB, \(descriptors) descriptors, \(threads) threads" }

    private static func text(_ path: String) -> String {
        (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    }

    private static func entries(_ path: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
    }
}
