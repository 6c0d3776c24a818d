/// The keys of a dictionary, or the names of the attributes of an element, in a text from a peer.
///
/// Swift's dictionaries treat canonically equal names as one: `é` as one code point, and as `e` with an accent.
/// Foundation puts names into such dictionaries, and so one of the two values would be lost.
struct CanonicalNames {
    private var names: Set<String> = []

    /// Adds a name. A name with the same code points may be there already: the reader of the text decides about it.
    /// - Throws: ``CurlewError`` with ``ErrorCode/decodingFailed`` for a name with a long run of combining marks, and
    ///   for a name that is canonically equal to another one.
    mutating func insert(_ name: String) throws {
        guard !name.hasLongRunOfMarks else { throw Self.longRun }
        let (isNew, earlier) = names.insert(name)
        guard isNew || earlier.utf8.elementsEqual(name.utf8) else {
            throw CurlewError(
                .decodingFailed, "two names are canonically equal, but have different code points")
        }
    }

    /// The error for a name with a long run of combining marks.
    static var longRun: CurlewError {
        let limit = JSONCoding.ReadingOptions.combiningMarkLimit
        return CurlewError(.decodingFailed, "a name has more than \(limit) combining marks in a row")
    }
}
