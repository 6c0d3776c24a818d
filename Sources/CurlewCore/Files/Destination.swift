internal import CurlewPlatform
public import HTTPTypes

/// The destination of a download, and the rule for an existing file.
///
/// The bytes are written to a file beside the destination, `.NAME.RANDOM.part`, which is renamed when it is complete.
/// The permissions are 0666, reduced by the umask of the process.
///
/// ```swift
/// var destination = Destination.folder("/srv/inbox")
/// destination.existing = .unique
/// let file = try await response.save(to: destination)
/// ```
public struct Destination: Sendable {
    private enum Place {
        case file(String)
        case folder(String)
        case chosen(@Sendable (_ response: HTTPResponse, _ suggestedName: String) async throws -> String)
    }

    private let place: Place
    /// The rule for an existing file. ``Destination/ExistingFile/fail`` by default. The rule is applied before the
    /// first byte is written, and again in one step with the renaming.
    public var existing = Destination.ExistingFile.fail
    /// True if missing folders are made, with permissions 0777, reduced by the umask. They remain if the download
    /// fails. False by default.
    public var createsFolders = false
    /// True if the file and its name are written to the disk (`fsync`) before the download is reported as complete.
    /// False by default.
    public var synchronizes = false

    /// The file at a path. A relative path begins at the process's working folder.
    public static func file(_ path: String) -> Destination { Destination(place: .file(path)) }

    /// A file in a folder, named by ``CurlewResponse/suggestedFileName``.
    public static func folder(_ path: String) -> Destination { Destination(place: .folder(path)) }

    /// A file whose path a closure chooses when the head of the response has arrived. The closure gets the head and the
    /// name in ``CurlewResponse/suggestedFileName``, and returns a path. An error that it throws ends the download.
    public static func chosen(
        _ choose: @escaping @Sendable (_ response: HTTPResponse, _ suggestedName: String) async throws -> String
    ) -> Destination {
        Destination(place: .chosen(choose))
    }

    private init(place: Place) { self.place = place }

    /// The path for a response's body.
    package func path(for response: CurlewResponse) async throws -> String {
        switch place {
        case .file(let path): return path
        case .folder(let folder):
            guard !folder.isEmpty else { throw CurlewError(.invalidDestination, "the path of the folder is empty") }
            return (folder.utf8.last == .slash ? folder : folder + "/") + response.suggestedFileName
        case .chosen(let choose): return try await choose(response.head, response.suggestedFileName)
        }
    }

    /// The path of the file or of the folder; nil if a closure chooses it.
    package var location: (path: String, isFolder: Bool)? {
        switch place {
        case .file(let path): (path, false)
        case .folder(let path): (path, true)
        case .chosen: nil
        }
    }

    /// The absolute path; nil if the name of the file depends on the response.
    package var filePath: String? {
        guard let location, !location.isFolder else { return nil }
        return Self.absolute(location.path)
    }

    /// True if a download to this destination may have created a file at the path. False if a closure chooses the path,
    /// as it is unknown.
    package func mayBe(_ path: String?) -> Bool {
        guard let path, let location else { return false }
        guard location.isFolder else { return Self.absolute(location.path).hasSameBytes(as: path) }
        let folder = Self.absolute(location.path)
        let prefix = folder.utf8.last == .slash ? folder : folder + "/"
        return path.utf8.starts(with: prefix.utf8) && !path.utf8.dropFirst(prefix.utf8.count).contains(.slash)
    }

    /// The absolute path, for a process that may have another working folder later.
    package static func absolute(_ path: String) -> String {
        guard path.utf8.first != .slash, let folder = getcwd(nil, 0) else { return path }
        defer { free(folder) }
        return "\(String(cString: folder))/\(path)"
    }

    /// Makes the part file for a path.
    /// - Parameter name: The name of the part file; nil chooses a random one.
    package func makePart(for path: String, named name: String? = nil) async throws -> PartFile {
        try await PartFile.create(beside: path, named: name, existing: existing, createsFolders: createsFolders)
    }

    /// Checks that an existing part file can become the file at a path.
    package func check(_ path: String, for part: PartFile) async throws {
        try await part.checkDestination(path, existing: existing, createsFolders: createsFolders)
    }

    /// Renames a complete part file to its path, or to a numbered name like it.
    package func commit(_ part: PartFile, to path: String) async throws -> String {
        try await part.commit(to: path, existing: existing, synchronizes: synchronizes)
    }
}

extension Destination {
    /// The rule for an existing file at the destination.
    public enum ExistingFile: String, Sendable, Hashable, Codable, CaseIterable {
        /// The existing file stays, and the download fails with ``ErrorCode/fileExists``.
        case fail
        /// The new file replaces the existing one in one step. A program that opens the name gets the complete old or
        /// the complete new file. A symbolic link is replaced itself; its target is unchanged.
        case replace
        /// The existing file stays, and the new one gets a number: `name (1).txt`, `name (2).txt`, and so on up to
        /// 9,999.
        case unique
    }
}

/// A file that contains a complete body.
public struct DownloadedFile: Sendable {
    /// The path of the file. ``Destination/ExistingFile/unique`` may have added a number to its name.
    public let path: String
    /// The size in bytes.
    public let size: Int64
    /// The head of the response. Its Content-Encoding, if present, is the coding of the bytes in the file. nil if
    /// nothing was fetched because, according to the token file, the file was already complete.
    public let response: HTTPResponse?
    /// The URI that returned the response.
    public let uri: CurlewURI
    /// The digest, which was checked; nil if there was no expected digest.
    public let digest: ContentDigest?
    /// The redirects that led to the response, in their order.
    public let history: [CurlewResponse.Redirect]

    package init(
        path: String, size: Int64, response: HTTPResponse?, uri: CurlewURI, digest: ContentDigest?,
        history: [CurlewResponse.Redirect]
    ) {
        self.path = path
        self.size = size
        self.response = response
        self.uri = uri
        self.digest = digest
        self.history = history
    }
}

extension CurlewResponse {
    private enum FileKey: Key { static let defaultValue: DownloadedFile? = nil }

    /// The file with the body, if ``RequestOptions/onResponse`` requested one.
    public internal(set) var file: DownloadedFile? {
        get { self[FileKey.self] }
        set { self[FileKey.self] = newValue }
    }
}

extension CurlewError.Context {
    private enum FileKey: CurlewError.Key { typealias Value = String }

    /// The path of a file that could not be moved to its destination.
    var file: String? {
        get { self[FileKey.self] }
        set { self[FileKey.self] = newValue }
    }

    init(file: String?) {
        self.init()
        self.file = file
    }

    private enum PathKey: CurlewError.Key { typealias Value = String }

    /// The path of the file or folder that the failure concerns.
    var path: String? {
        get { self[PathKey.self] }
        set { self[PathKey.self] = newValue }
    }
}

extension CurlewError {
    /// The path of a complete file that could not be moved to its destination. The caller owns the file. nil without
    /// such a file.
    public var file: String? { context.file }

    /// The path of the file or folder that could not be read or written: the file that is sent, or the destination of a
    /// download. nil if the failure does not concern a file. The description contains the path.
    public var path: String? { context.path }

    /// The same error with the path of its file, unless it has one.
    /// - Parameter path: The path; nil changes nothing.
    package func naming(_ path: String?) -> CurlewError {
        guard let path, self.path == nil else { return self }
        var context = CurlewError.Context()
        context.path = path
        return adding(context)
    }

    /// Works on a file. The errors of the work name its path.
    package static func naming<Result>(_ path: String, _ work: () throws -> Result) throws -> Result {
        do { return try work() } catch let error as CurlewError { throw error.naming(path) }
    }
}
