internal import HTTPTypes

/// What is known of the thing that is being downloaded.
struct Representation: Sendable {
    /// Its length, once it is known.
    var total: Int64?
    /// What tells whether it is still the same; nil if nothing does.
    let validator: RepresentationValidator?
    /// Whether the server said that it takes ranges.
    let announcesRanges: Bool
    /// Whether the server said that it takes none.
    private let refusesRanges: Bool

    /// Takes a response with the whole.
    init(_ response: Response) {
        let fields = response.fields
        total = response.body.length
        let units: [String] = fields[values: .acceptRanges].joined(separator: ",").lowercased()
            .split(separator: ",").map { unit in unit.filter { $0 != " " && $0 != "\t" } }
        announcesRanges = units.contains("bytes")
        refusesRanges = units.contains("none")
        // Ranges are of the coded bytes, and those are not in the file.
        validator = response.contentCodings.isEmpty ? RepresentationValidator(fields) : nil
    }

    /// Takes what a token knows.
    init(_ token: ResumeToken) {
        total = token.total
        validator = token.validator
        announcesRanges = true
        refusesRanges = false
    }

    /// What ranges are asked for by; nil if they cannot be.
    var rangeValidator: RepresentationValidator? { refusesRanges ? nil : validator }
}
