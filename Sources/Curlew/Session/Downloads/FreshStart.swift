/// Why a download lets go of what has come, and begins anew.
struct FreshStart: Error {
    /// In words.
    let reason: String
    /// The answer with the whole, if there is one.
    var response: Response?
    /// Whether ranges are better not asked for again.
    var avoidsRanges = false

    /// What did not fit.
    init(_ misfit: RangeQuestion.Misfit) {
        reason = misfit.rawValue
        avoidsRanges = misfit != .otherTotal && misfit != .otherRepresentation && misfit != .unsatisfied
    }

    /// The server has sent the whole.
    init(whole response: Response) {
        reason = "the server sent the whole"
        self.response = response
    }

    init(_ reason: String, avoidsRanges: Bool = false) {
        self.reason = reason
        self.avoidsRanges = avoidsRanges
    }
}
