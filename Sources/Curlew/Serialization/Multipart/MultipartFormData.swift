/// A `multipart/form-data` body (RFC 7578), put together part by part.
///
/// ```swift
/// var form = MultipartFormData()
/// form.append("Numenius arquata", name: "species")
/// try form.append(file: "/srv/photos/curlew.jpg", name: "photo")
/// let response = try await api.post("sightings", multipart: form)
/// ```
///
/// It is a value: the parts are in memory only if they were given as bytes, everything else is read while it is sent, a
/// chunk at a time. The body has a Content-Length if the length of every part is known; else it goes out chunked. It can be
/// sent again if every part can.
///
/// Parts stand in the order of the calls. Between them stands ``boundary``; that bytes of a part hold it by chance is as
/// likely as to guess a number of 64 bits, so they are not searched for it. For a boundary of your own they are, as they
/// are sent: a part with a line that begins with it is ``ErrorCode/bodyFailed``.
public struct MultipartFormData: Sendable {
    let delimiter: MultipartBoundary
    private(set) var parts: [FormPart] = []
    /// The bytes of heads, bodies and all between them, but for the end; nil as soon as one length is not known.
    private var partsLength: Int64? = 0

    /// Adds `filename*` (RFC 8187) behind `filename` for file names that are not ASCII, in parts appended from now on.
    /// Off by default: RFC 7578 §4.2 does not want it, and browsers and most servers use the bytes of `filename` as UTF-8.
    public var addsExtendedFileNames = false

    /// The pace at which the body is sent; as fast as it goes by default.
    public var throttle: UploadThrottle?

    /// A form without parts, with a boundary of its own: `Boundary+` and 16 hexadecimal digits.
    public init() { delimiter = .random() }

    /// A form without parts.
    /// - Parameter boundary: What stands between the parts. No line of a part may begin with it.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` unless it has 1 to 70 of the characters that RFC 2046
    ///   §5.1.1 allows.
    public init(boundary: String) throws { delimiter = try MultipartBoundary(boundary) }

    /// The same form without its parts: boundary and settings.
    var withoutParts: MultipartFormData {
        var form = self
        form.parts = []
        form.partsLength = 0
        return form
    }

    /// What stands between the parts.
    public var boundary: String { delimiter.text }

    /// The Content-Type of the body, with the boundary.
    public var contentType: String { "multipart/form-data; boundary=\(MediaTypeParser.quotedIfNeeded(boundary))" }

    /// How many parts there are.
    public var count: Int { parts.count }

    /// Whether there are no parts.
    public var isEmpty: Bool { parts.isEmpty }

    /// The bytes of the whole body; nil if that of one part is not known.
    public var length: Int64? { partsLength.map { $0 + Int64(delimiter.closing(isFirst: isEmpty).count) } }

    /// Appends a part that was checked, or is in memory.
    mutating func append(_ part: FormPart) {
        let frame = Int64(delimiter.opening(isFirst: isEmpty).count + part.head.count)
        partsLength = partsLength.flatMap { sum in part.length.map { sum + frame + $0 } }
        parts.append(part)
    }

    /// All the parts of another form behind those of this one.
    mutating func append(contentsOf other: MultipartFormData) throws {
        for part in other.parts { try append(checking: part) }
    }

    /// Appends a part whose length somebody promised.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` for a length that is none, or too much together. Half of
    ///   all numbers is left for what is in memory.
    mutating func append(checking part: FormPart) throws {
        if let length = part.length {
            guard length >= 0, length <= Int64.max / 2 - min(partsLength ?? 0, Int64.max / 2) else {
                throw CurlewError(.invalidRequest, "the length of a part is not one that can be sent")
            }
        }
        append(part)
    }
}
