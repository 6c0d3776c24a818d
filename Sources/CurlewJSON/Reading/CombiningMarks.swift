internal import CurlewSupport

extension String {
    /// True if the name has a run of combining marks that is longer than
    /// ``JSONCoding/ReadingOptions/combiningMarkLimit``.
    ///
    /// Swift hashes and compares names by their normal form, in time that grows with the square of the length of such a
    /// run. No writing system has such runs.
    package var hasLongRunOfMarks: Bool {
        var marks = 0
        for scalar in unicodeScalars {
            marks = scalar.isCombiningMark ? marks + 1 : 0
            if marks > JSONCoding.ReadingOptions.combiningMarkLimit { return true }
        }
        return false
    }
}
