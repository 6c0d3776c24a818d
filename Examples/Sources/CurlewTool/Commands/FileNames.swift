import ArgumentParser
import Curlew
import TerminalOutput

/// The names of files, from their paths and from URLs.
enum FileNames {
    /// Refuses URLs whose files would have one name in a folder, before anything is fetched.
    /// - Parameter numbersNames: True if files of one name are numbered.
    /// - Throws: `ValidationError`.
    static func check(_ urls: [String], numbersNames: Bool) throws {
        var urlsByName: [String: String] = [:]
        var seen: Set<String> = []
        for url in urls {
            guard seen.insert(url).inserted else { throw ValidationError("\(printable(url)) is there twice.") }
            guard let name = name(ofURL: url) else { continue }
            if let other = urlsByName.updateValue(url, forKey: name), !numbersNames {
                throw ValidationError(
                    "\(printable(other)) and \(printable(url)) would both be \(printable(name)); --rename numbers them."
                )
            }
        }
    }

    /// The name of the file that a URL suggests; the server may suggest another. nil for an invalid URL.
    static func name(ofURL url: String) -> String? {
        (try? CurlewURI(RequestLine.absolute(url))).map { CurlewResponse(.ok, uri: $0).suggestedFileName }
    }

    /// The name of a file without its folders.
    static func name(ofPath path: String) -> String { path.split(separator: "/").last.map(String.init) ?? path }
}
