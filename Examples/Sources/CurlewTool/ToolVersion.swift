import Curlew
import Glibc

/// The versions of the tool and of the libraries that are loaded.
enum ToolVersion {
    static var text: String {
        let curlew = SessionConfiguration.defaultUserAgent.split(separator: "/").last.map(String.init) ?? "?"
        var lines = ["curlew \(curlew)"]
        for name in ["libcurl", "OpenSSL", "nghttp2", "zlib", "brotli", "zstd"] {
            if let library = libraries.first(where: { $0.hasPrefix("\(name)/") }) {
                lines.append(String(library.replacing("/", with: " ")))
            }
        }
        return lines.joined(separator: "\n")
    }

    /// The libraries that libcurl names, such as `OpenSSL/3.0.19`.
    private static var libraries: [Substring] {
        typealias Version = @convention(c) () -> UnsafePointer<CChar>?
        // The package does not export its bindings of libcurl, which is loaded all the same.
        guard let symbol = dlsym(nil, "curl_version") else { return [] }
        let version = unsafeBitCast(symbol, to: Version.self)
        return version().map { String(cString: $0).split(separator: " ").map { Substring($0) } } ?? []
    }
}
