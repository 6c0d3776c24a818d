internal import Glibc

/// The resources that the process has used up to a moment.
package struct Usage {
    /// The time in seconds since an arbitrary start.
    package let wallSeconds: Double
    /// The processor time in seconds, user and system, of all threads.
    package let processorSeconds: Double

    package static func now() -> Usage {
        var clock = timespec()
        clock_gettime(CLOCK_MONOTONIC, &clock)
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return Usage(
            wallSeconds: Double(clock.tv_sec) + Double(clock.tv_nsec) / 1e9,
            processorSeconds: seconds(usage.ru_utime) + seconds(usage.ru_stime)
        )
    }

    private static func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }

    /// The peak resident memory of the process in bytes. `ru_maxrss` is unsuitable: it survives `exec`, so that a small
    /// program would report the size of its parent.
    static func peakResidentBytes() -> Int {
        guard let file = fopen("/proc/self/status", "r") else { return 0 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        var kibibytes = 0
        while fgets(&line, Int32(line.count), file) != nil {
            guard strncmp(line, "VmHWM:", 6) == 0 else { continue }
            kibibytes = line.withUnsafeBufferPointer { strtol($0.baseAddress! + 6, nil, 10) }
        }
        return kibibytes * 1024
    }
}
