/// What is done with numbers that are infinite or not a number, for which neither JSON nor forms have a notation.
public struct NonFiniteStyle: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        case refused
        case text(positive: String, negative: String, notANumber: String)
    }

    let kind: Kind

    /// They are ``ErrorCode/encodingFailed``.
    public static let refused = NonFiniteStyle(kind: .refused)

    /// They are written as text.
    public static func text(
        positiveInfinity: String = "inf", negativeInfinity: String = "-inf", notANumber: String = "nan"
    ) -> NonFiniteStyle {
        NonFiniteStyle(kind: .text(positive: positiveInfinity, negative: negativeInfinity, notANumber: notANumber))
    }

    /// The text for a number that is not finite.
    func text(of number: ParameterNumber) throws(ParameterFailure) -> String {
        guard case .text(let positive, let negative, let notANumber) = kind else {
            throw ParameterFailure("is a number that is infinite or not a number")
        }
        let double = number.double
        return double.isNaN ? notANumber : double > 0 ? positive : negative
    }
}
