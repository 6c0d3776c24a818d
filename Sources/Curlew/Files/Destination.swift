internal import Glibc
public import HTTPTypes

/// The place that a download goes to, and the rule for a file that is there already.
///
/// The bytes go into a file beside it, `.NAME.RANDOM.part`, which gets its name when it is whole. The permissions are 0666
/// without the bits of the process's umask.
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
    /// The rule for a file that is there already. ``Destination/ExistingFile/fail`` by default. It is looked for before a byte is
    /// written and, in one step with the naming, again at the end.
    public var existing = Destination.ExistingFile.fail
    /// True if missing folders are made, with 0777 without the bits of the umask. They stay if the download fails.
    /// False by default.
    public var createsFolders = false
    /// True if the file and its name are on the disk (`fsync`) before the download is reported to be whole. False by
    /// default.
    public var synchronizes = false

    /// This very file. A relative path begins at the process's working folder.
    public static func file(_ path: String) -> Destination { Destination(place: .file(path)) }

    /// A file in this folder, with the name that ``CurlewResponse/suggestedFileName`` has.
    public static func folder(_ path: String) -> Destination { Destination(place: .folder(path)) }

    /// The file that a closure names when the head of the response has come. It gets the head and the name that
    /// ``CurlewResponse/suggestedFileName`` has, and returns a path. What it throws ends the download.
    public static func chosen(
        _ choose: @escaping @Sendable (_ response: HTTPResponse, _ suggestedName: String) async throws -> String
    ) -> Destination {
        Destination(place: .chosen(choose))
    }

    private init(place: Place) { self.place = place }

    /// The path that a response's body is to have.
    func path(for response: CurlewResponse) async throws -> String {
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

    /// True if a download to here may have had a file at this path. Nothing is known of a destination that a closure chooses.
    func mayBe(_ path: String?) -> Bool {
        guard let path, let location else { return false }
        guard location.isFolder else { return Self.absolute(location.path).hasSameBytes(as: path) }
        let folder = Self.absolute(location.path)
        let prefix = folder.utf8.last == .slash ? folder : folder + "/"
        return path.utf8.starts(with: prefix.utf8) && !path.utf8.dropFirst(prefix.utf8.count).contains(.slash)
    }

    /// The path from the root, for a process that stands in another folder later.
    package static func absolute(_ path: String) -> String {
        guard path.utf8.first != .slash, let folder = getcwd(nil, 0) else { return path }
        defer { free(folder) }
        return "\(String(cString: folder))/\(path)"
    }

    /// Makes the file that is to become the one at a path.
    /// - Parameter name: The name that it has until then; nil is one that is drawn at random.
    func makePart(for path: String, named name: String? = nil) async throws -> PartFile {
        try await PartFile.create(beside: path, named: name, existing: existing, createsFolders: createsFolders)
    }

    /// Looks whether a part that is there already can become the file at a path.
    func check(_ path: String, for part: PartFile) async throws {
        try await part.checkDestination(path, existing: existing, createsFolders: createsFolders)
    }

    /// Gives a file that is whole its path, or one like it.
    func commit(_ part: PartFile, to path: String) async throws -> String {
        try await part.commit(to: path, existing: existing, synchronizes: synchronizes)
    }
}

extension Destination {
    /// The rule for a file that is already where a new one is to go.
    public enum ExistingFile: String, Sendable, Hashable, Codable, CaseIterable {
        /// It stays, and the new one is an error: ``ErrorCode/fileExists``.
        case fail
        /// The new one takes its place, in one step: whoever opens the name gets the old file or the new one, whole. A symbolic
        /// link is replaced itself; what it leads to stays as it is.
        case replace
        /// It stays, and the new one gets a number: `name (1).txt`, `name (2).txt`, and so on up to 9,999.
        case unique
    }
}

/// A file that a body was written into, whole.
public struct DownloadedFile: Sendable {
    /// Where it is: as ``Destination`` has it, with a number in its name if ``Destination/ExistingFile/unique`` gave it one.
    public let path: String
    /// Its size in bytes.
    public let size: Int64
    /// The head of the response. Its Content-Encoding, if there is one, is the coding of the bytes in the file. nil if the file was whole
    /// before the call, as its token file says, so that nothing was fetched.
    public let response: HTTPResponse?
    /// The URI that answered.
    public let uri: CurlewURI
    /// Its digest, which was checked; nil if there was nothing to check it against.
    public let digest: ContentDigest?
    /// The redirects that led there, first to last.
    public let history: [CurlewResponse.Redirect]
}

extension CurlewResponse {
    private enum FileKey: Key { static let defaultValue: DownloadedFile? = nil }

    /// The file that the body was written into, if ``RequestOptions/onResponse`` wanted that.
    public internal(set) var file: DownloadedFile? {
        get { self[FileKey.self] }
        set { self[FileKey.self] = newValue }
    }
}

extension CurlewError.Context {
    private enum FileKey: CurlewError.Key { typealias Value = String }

    /// The path of the bytes that did not get to their destination.
    var file: String? {
        get { self[FileKey.self] }
        set { self[FileKey.self] = newValue }
    }

    init(file: String?) {
        self.init()
        self.file = file
    }
}

extension CurlewError {
    /// The path of a body that was written whole and could not be given its name: a file that is left to the caller.
    /// nil if there is none.
    public var file: String? { context.file }
}
