/// What became of a file of cookies.
public struct CookieFileReport: Sendable, Hashable {
    /// How many cookies were put into the jar. Its bounds may have sent some of them away again.
    public let stored: Int
    /// The numbers of the lines that are no cookies, from 1 on; the first hundred.
    public let skippedLines: [Int]
}

extension CookieJar {
    /// Writes the cookies into a file in the format of Netscape's browser, which curl reads.
    ///
    /// The file takes its name when it is whole, so that a reader sees the old one or the new; only its owner may read it
    /// (mode 0600). Left out is what the format has no place for: cookies with a tab in name or path, and what a server
    /// said of other sites. `JSONEncoder` writes ``cookies`` whole.
    /// - Parameters:
    ///   - path: The file. What is there is replaced if it is a regular file.
    ///   - includesSessionCookies: Whether those are written too that end with the session, as curl does.
    /// - Throws: ``CurlewError`` with ``ErrorCode/cookieFileFailed``.
    public func save(to path: String, includesSessionCookies: Bool = true) async throws {
        let bytes = CookieFile.bytes(of: cookies.filter { includesSessionCookies || $0.expirySeconds != nil })
        do {
            let file = try await PartFile.create(beside: path, permissions: 0o600)
            do {
                try await file.write(bytes, at: 0)
                _ = try await file.commit(to: path, existing: .replace, synchronizes: true)
            } catch {
                await file.discard()
                throw error
            }
        } catch {
            throw CurlewError(.cookieFileFailed, "the cookies cannot be written", underlying: error)
        }
    }

    /// Puts the cookies of a file into the jar, beside those that are there; the same name, domain and path replaces. What
    /// has expired is passed over. Lines that are no cookies are skipped, and the report tells of them.
    /// - Throws: ``CurlewError`` with ``ErrorCode/cookieFileFailed`` for a file that cannot be read, and for one larger than
    ///   ``CookieLimits/fileSize``; the jar is then as it was.
    @discardableResult
    public func load(from path: String) async throws -> CookieFileReport {
        let (cookies, skipped) = CookieFile.read(try await bytes(of: path))
        return CookieFileReport(stored: set(cookies), skippedLines: skipped)
    }

    private func bytes(of path: String) async throws -> [UInt8] {
        do {
            let file = try await FileReader(path: path, for: .keeping)
            let size = try await file.snapshot().size
            guard size <= Int64(limits.fileSize.bytes) else {
                throw CurlewError(.cookieFileFailed, "the file has more than \(limits.fileSize.bytes) bytes")
            }
            var bytes: [UInt8] = []
            while bytes.count < Int(size) {
                let part = try await file.read(at: Int64(bytes.count), count: Int(size) - bytes.count)
                if part.isEmpty { break }
                bytes += part
            }
            return bytes
        } catch {
            throw CurlewError(.cookieFileFailed, "the cookies cannot be read", underlying: error)
        }
    }
}
