public import Curlew

/// Logins and passwords by host, from a file `.netrc` that is parsed by the rules of curl.
///
/// - An entry begins with `machine` and a host, or with `default` for every host, and has `login` and `password` in any
///   order. The case of keywords is ignored, and unknown words are skipped.
/// - The first matching entry is used, so `default` hides the entries after it.
/// - A word in quotes may contain spaces, and `\"`, `\\`, `\n`, `\r` and `\t`.
/// - A line that begins with `#` is a comment; elsewhere a `#` belongs to its word.
/// - A macro (`macdef`) ends at an empty line, and is ignored.
///
/// Descriptions contain no passwords.
///
/// ```swift
/// let netrc = try Netrc(contentsOf: "/home/me/.netrc")
/// if let login = netrc.login(for: "example.com") { … }
/// ```
public struct Netrc: Sendable {
    /// A login of a file.
    public struct Login: Sendable, Hashable {
        /// The user; empty if the file has only a password.
        public let user: String
        /// The password; empty if the file has only a login.
        public let password: String
    }

    private struct Entry {
        /// The host; nil for the entry `default`.
        let host: [UInt8]?
        var user: [UInt8]?
        var password: [UInt8]?
    }

    private var entries: [Entry] = []

    /// The largest size of a file: 128 KiB.
    static let sizeLimit = 128 << 10
    /// The largest size of a line: 16 KiB.
    static let lineLimit = 16 << 10
    /// The largest size of a word: 4 KiB.
    static let wordLimit = 4 << 10

    /// Parses the bytes of a file.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidCredential`` for a file larger than 128 KiB, a
    ///   line longer than 16 KiB or a word longer than 4 KiB. An unterminated quote, a zero byte, and a login or
    ///   password that is not UTF-8 throw the same error.
    public init(_ bytes: [UInt8]) throws(CurlewError) {
        guard bytes.count <= Self.sizeLimit else {
            throw CurlewError(.invalidCredential, "a netrc file has more than \(Self.sizeLimit) bytes")
        }
        guard !bytes.contains(0) else { throw CurlewError(.invalidCredential, "a netrc file has a byte zero") }
        var text: [UInt8] = []
        for line in bytes.split(separator: .lineFeed, omittingEmptySubsequences: false) {
            guard line.count < Self.lineLimit else {
                throw CurlewError(.invalidCredential, "a line of a netrc file has more than \(Self.lineLimit) bytes")
            }
            let content = line.drop(while: \.isBlank)
            if content.first != .numberSign { text += content + [.lineFeed] }
        }
        try read(NetrcWords(rest: text[...]))
    }

    private mutating func read(_ words: NetrcWords) throws(CurlewError) {
        var words = words
        var isInside = false
        while let word = try words.next() {
            switch word.keyword {
            case .machine:
                guard let host = try words.next() else { return }
                entries.append(Entry(host: host.bytes))
                isInside = true
            case .default:
                entries.append(Entry(host: nil))
                isInside = true
            case .macdef:
                words.skipMacro()
                isInside = false
            case .login:
                let value = try Self.text(words.next())
                if isInside { entries[entries.count - 1].user = value }
            case .password:
                let value = try Self.text(words.next())
                if isInside { entries[entries.count - 1].password = value }
            case .account: _ = try words.next()
            case nil: continue
            }
        }
    }

    /// The bytes of a word. They must be UTF-8: other bytes would be replaced, and the server would get a different
    /// password.
    private static func text(_ word: NetrcWords.Word?) throws(CurlewError) -> [UInt8]? {
        guard let word else { return nil }
        guard String(validating: word.bytes, as: UTF8.self) != nil else {
            throw CurlewError(.invalidCredential, "a login or a password of a netrc file is not UTF-8")
        }
        return word.bytes
    }

    /// The login for a host; nil if the file has none.
    /// - Parameters:
    ///   - host: The host of a URI. Its case is ignored, and an IPv6 address may have brackets.
    ///   - user: The requested user, compared as bytes; nil for any user. An entry with another login is skipped, and
    ///     so is an entry of the user without a password.
    public func login(for host: String, user: String? = nil) -> Login? {
        login(for: host, user: user, usesDefaultEntry: true)
    }

    func login(for host: String, user: String? = nil, usesDefaultEntry: Bool) -> Login? {
        var wanted = Array(host.utf8)
        if wanted.first == UInt8(ascii: "["), wanted.last == UInt8(ascii: "]") {
            wanted = Array(wanted.dropFirst().dropLast())
        }
        let user = user.flatMap { $0.isEmpty ? nil : Array($0.utf8) }
        for entry in entries {
            let isHost = entry.host.map { host in
                host.lazy.map(\.lowercasedASCII).elementsEqual(wanted.lazy.map(\.lowercasedASCII))
            }
            guard isHost ?? usesDefaultEntry else { continue }
            if let user, let own = entry.user {
                guard own == user, entry.password != nil else { continue }
            } else if entry.user == nil, entry.password == nil {
                continue
            }
            return Login(
                user: String(decoding: user ?? entry.user ?? [], as: UTF8.self),
                password: String(decoding: entry.password ?? [], as: UTF8.self))
        }
        return nil
    }
}

extension Netrc {
    /// Reads a file that no other user of the machine may read or write.
    ///
    /// The call blocks its thread. Call it at the start of a program, or on a separate thread.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/credentialFileExposed`` for a file that other users may
    ///   read or write, or that belongs to another user; with ``Curlew/ErrorCode/invalidCredential`` for a file that
    ///   cannot be read, or that is not a netrc file.
    public init(contentsOf path: String) throws(CurlewError) {
        try self.init(SecretFile.read(path, limit: Self.sizeLimit))
    }
}

extension Netrc: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "netrc with \(entries.count) entries" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["count": entries.count]) }
}

extension Netrc.Login: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "login of the user \(PeerText.escaped(user, limit: 200))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["user": user]) }
}

/// The words of a netrc file without its comments, from left to right.
private struct NetrcWords {
    struct Word {
        let bytes: [UInt8]
        let isQuoted: Bool

        /// The keyword; nil for other words, and for a word in quotes.
        var keyword: Keyword? {
            isQuoted ? nil : Keyword.allCases.first { bytes.map(\.lowercasedASCII).elementsEqual($0.rawValue.utf8) }
        }
    }

    enum Keyword: String, CaseIterable {
        case machine, `default`, login, password, account, macdef
    }

    var rest: ArraySlice<UInt8>

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte.isBlank || byte == .lineFeed || byte == .carriageReturn
    }

    /// The next word; nil at the end.
    mutating func next() throws(CurlewError) -> Word? {
        rest = rest.drop(while: Self.isSpace)
        guard let first = rest.first else { return nil }
        let word: Word
        if first == .quote {
            word = Word(bytes: try quoted(), isQuoted: true)
        } else {
            let bytes = rest.prefix { !Self.isSpace($0) }
            rest = rest[bytes.endIndex...]
            word = Word(bytes: Array(bytes), isQuoted: false)
        }
        guard word.bytes.count < Netrc.wordLimit else {
            throw CurlewError(.invalidCredential, "a word of a netrc file has more than \(Netrc.wordLimit) bytes")
        }
        return word
    }

    private mutating func quoted() throws(CurlewError) -> [UInt8] {
        rest = rest.dropFirst()
        var bytes: [UInt8] = []
        while let byte = rest.popFirst() {
            switch byte {
            case .quote: return bytes
            case .backslash:
                guard let escaped = rest.popFirst() else { break }
                switch escaped {
                case UInt8(ascii: "n"): bytes.append(.lineFeed)
                case UInt8(ascii: "r"): bytes.append(.carriageReturn)
                case UInt8(ascii: "t"): bytes.append(.tab)
                default: bytes.append(escaped)
                }
            default: bytes.append(byte)
            }
        }
        throw CurlewError(.invalidCredential, "a netrc file has a quote without its end")
    }

    /// Skips the name and the lines of a macro, up to an empty line.
    mutating func skipMacro() {
        var isAtLineStart = false
        while let byte = rest.popFirst() {
            if byte == .lineFeed {
                if isAtLineStart { return }
                isAtLineStart = true
            } else if byte != .carriageReturn {
                isAtLineStart = false
            }
        }
    }
}
