import Glibc

/// The texts of the system.
enum SystemText {
    static func error(_ number: Int32) -> String { strerror(number).map { String(cString: $0) } ?? "error \(number)" }
}
