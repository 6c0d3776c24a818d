internal import FuzzingKit

@testable internal import CurlewCore
@testable internal import CurlewSupport

/// A fuzz target for URIs. A URI must stay equal after writing and reading, must contain no byte that may not be sent,
/// and must resolve references by RFC 3986.
///
/// The input is a URI, a line feed, and a reference.
@main
struct FuzzURIs: FuzzTarget {
    static func check(_ input: [UInt8]) {
        let parts = input.split(separator: .lineFeed, maxSplits: 1, omittingEmptySubsequences: false)
        let text = String(decoding: parts[0], as: UTF8.self)
        let uri = try? CurlewURI(text)
        checkBothReaders(text, uri)
        guard let uri else { return }
        check(uri)
        check(uri.asBase())
        let reference = parts.count > 1 ? String(decoding: parts[1], as: UTF8.self) : ""
        if let resolved = try? uri.resolving(reference) { check(resolved, of: reference, relativeTo: uri) }
        if let longer = try? uri.appending(query: reference) {
            check(longer)
            requireEqual(longer.path, uri.path, "a longer query changes the path")
            requireEqual(longer.fragment, uri.fragment, "a longer query changes the fragment")
            checkSeparator(uri.query ?? "", longer.query ?? "")
        }
    }

    /// Checks that added pairs follow exactly one separator, and that a query does not begin with one.
    private static func checkSeparator(_ old: String, _ new: String) {
        let (old, new) = (Array(old.utf8), Array(new.utf8))
        require(new.starts(with: old), "a longer query changes the one before")
        let added = new.dropFirst(old.count)
        if added.isEmpty { return }
        let needsSeparator = !old.isEmpty && old.last != UInt8(ascii: "&")
        requireEqual(added.first == UInt8(ascii: "&"), needsSeparator, "a separator is there without need, or is not")
        require(added.dropFirst(needsSeparator ? 1 : 0).first != UInt8(ascii: "&"), "there are two separators")
    }

    /// Checks that the fast reader of plain URIs agrees with the general reader. The fast reader does not accept
    /// capital schemes.
    private static func checkBothReaders(_ text: String, _ uri: CurlewURI?) {
        guard text.utf8.starts(with: "http".utf8) else { return }
        requireEqual(try? CurlewURI("HTTP" + text.dropFirst(4)), uri, "the two readers differ")
    }

    private static func check(_ uri: CurlewURI) {
        let text = uri.description
        requireEqual(
            try? CurlewURI(text), CurlewURI(text: uri.text, layout: uri.layout, userInformation: nil),
            "a URI is read otherwise again")
        let query = uri.query.map { "?\($0)" } ?? ""
        let fragment = uri.fragment.map { "#\($0)" } ?? ""
        requireEqual(
            "\(uri.scheme)://\(uri.authority)\(uri.path)\(query)\(fragment)", text, "the parts are not the whole")
        requireEqual(uri.requestText + fragment, text, "what is requested is not the URI")
        require(uri.path.utf8.first == .slash, "the path does not begin with a slash")
        require(text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }, "a URI holds a space or a control character")
        require((uri.path + query + fragment).utf8.allSatisfy { $0 < 0x7F }, "a URI holds what is not ASCII")
        checkHost(uri)
        if let user = uri.userInformation {
            require(user.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }, "user information holds a control character")
        }
    }

    private static func checkHost(_ uri: CurlewURI) {
        var host = uri.host
        require((1...65_535).contains(uri.port), "the port is out of range")
        let port = uri.authority.dropFirst(uri.host.count)
        require(port.isEmpty || port == ":\(uri.port)", "the port is written in another way than it is read")
        if host.first == "[", host.last == "]" { host = String(host.dropFirst().dropLast()) }
        require(
            !host.isEmpty && !host.utf8.contains { "[]@/\\?#%".utf8.contains($0) }, "the host cannot be one: \(host)")
    }

    private static func check(_ resolved: CurlewURI, of reference: String, relativeTo base: CurlewURI) {
        check(resolved)
        requireEqual(resolved.removingDotSegments(), resolved, "dot segments are left")
        requireEqual(
            resolved.path.split(separator: "/").filter { $0 == "." || $0 == ".." }, [], "dot segments are left")
        if let absolute = try? CurlewURI(reference) {
            requireEqual(resolved.path, PlainDots.remove(from: absolute.path), "dot segments are removed otherwise")
            requireEqual(resolved.authority, absolute.authority, "an absolute reference has another authority")
            return
        }
        guard !reference.utf8.starts(with: "//".utf8) else { return }
        requireEqual(resolved.origin, base.origin, "a relative reference leads to another origin")
        requireEqual(resolved.userInformation, base.userInformation, "a relative reference has another user")
        if reference.utf8.first == .slash {
            let path = reference.prefix { $0 != "?" && $0 != "#" }
            guard let absolute = try? CurlewURI("http://h" + path) else { return }
            requireEqual(resolved.path, PlainDots.remove(from: absolute.path), "dot segments are removed otherwise")
        }
    }
}
