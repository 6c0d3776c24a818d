#if TestKit
internal import CurlewPlatform

/// The resources of this process: its descriptors and its threads.
struct ProcessResources {
    /// The descriptors and their targets, such as `socket:[4711]`.
    private var descriptors: [String: String] = [:]
    /// The threads and their names.
    private var threads: [String: String] = [:]
    private let processName: String

    static func now() -> ProcessResources {
        var resources = ProcessResources(processName: self.name(of: "/proc/self/comm"))
        for entry in self.entries(of: "/proc/self/fd") {
            if let target = self.link("/proc/self/fd/\(entry)") { resources.descriptors[entry] = target }
        }
        for entry in self.entries(of: "/proc/self/task") {
            resources.threads[entry] = self.name(of: "/proc/self/task/\(entry)/comm")
        }
        return resources
    }

    private init(processName: String) {
        self.processName = processName
    }

    /// The resources that did not exist in `before`.
    ///
    /// Threads with the process's name, or with the suffix of one of Dispatch's queues, are workers of Swift's pool.
    /// Their number follows the load, so as many as there are processors, plus four, are not counted. The permanent
    /// threads of NIO's shared group are not counted either.
    func beyond(_ before: ProcessResources) -> [String] {
        let descriptors = self.descriptors.filter { before.descriptors[$0.key] != $0.value }
        // Listing the descriptors needs a descriptor itself, which is closed by now.
        let open = descriptors.filter { self.stillOpen($0.key, $0.value) && !Self.isSanitizers($0.value) }
        // Dispatch makes one timer for each clock when a task first sleeps on it, and keeps it: up to three timers are
        // no leak.
        let timers = open.filter { $0.value == "anon_inode:[timerfd]" }
        let files = open.filter { timers.count > 3 || timers[$0.key] == nil }
            .map { self.describe($0.key, $0.value) }
        let threads = self.threads.filter { before.threads[$0.key] == nil && !$0.value.hasPrefix("NIO-SGLTN") }
        let named = threads.filter { $0.value != self.processName && !$0.value.contains("-qos") }.map {
            "thread \($0.value)"
        }
        let workers = threads.count - named.count
        let spare = Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))) + 4
        return (files + named + (workers > spare ? ["\(workers) threads"] : [])).sorted()
    }

    private func describe(_ descriptor: String, _ target: String) -> String {
        guard let number = Int32(descriptor), let peer = ConnectedPeer(of: number) else {
            return "descriptor \(descriptor) (\(target))"
        }
        return "connection \(descriptor) (\(peer.description))"
    }

    /// True for a pipe under ThreadSanitizer, which opens pipes to its symbolizer when it first resolves a symbol.
    private static func isSanitizers(_ target: String) -> Bool {
        target.hasPrefix("pipe:") && dlsym(nil, "__tsan_acquire") != nil
    }

    private func stillOpen(_ descriptor: String, _ target: String) -> Bool {
        Self.link("/proc/self/fd/\(descriptor)") == target
    }

    private static func entries(of path: String) -> [String] {
        guard let directory = opendir(path) else { return [] }
        defer { closedir(directory) }
        var entries: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix(".") { entries.append(name) }
        }
        return entries
    }

    private static func link(_ path: String) -> String? {
        var bytes = [UInt8](repeating: 0, count: 256)
        let length = bytes.withUnsafeMutableBytes { buffer in
            buffer.withMemoryRebound(to: CChar.self) { text in
                text.baseAddress.map { readlink(path, $0, text.count) } ?? -1
            }
        }
        return length < 0 ? nil : String(decoding: bytes.prefix(length), as: UTF8.self)
    }

    private static func name(of path: String) -> String {
        guard let file = fopen(path, "r") else { return "" }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes.prefix(count).prefix { $0 != 10 }, as: UTF8.self)
    }
}
#endif
