extension ParameterValue {
    /// The treatment of infinite numbers and NaN, for which neither JSON nor forms have a notation.
    public struct NonFiniteStyle: Sendable, Hashable {
        enum Kind: Sendable, Hashable {
            case refused
            case text(positive: String, negative: String, notANumber: String)
        }

        let kind: Kind

        /// Non-finite numbers are ``JSONCoding/Failure/Code/encodingFailed``.
        public static let refused = ParameterValue.NonFiniteStyle(kind: .refused)

        /// Non-finite numbers are written as text.
        public static func text(
            positiveInfinity: String = "inf", negativeInfinity: String = "-inf", notANumber: String = "nan"
        ) -> ParameterValue.NonFiniteStyle {
            ParameterValue.NonFiniteStyle(
                kind: .text(positive: positiveInfinity, negative: negativeInfinity, notANumber: notANumber))
        }

        /// The non-finite number for this text; nil for other texts.
        func number(from text: String) -> Double? {
            guard case .text(let positive, let negative, let notANumber) = kind else { return nil }
            if text == positive { return .infinity }
            if text == negative { return -.infinity }
            return text == notANumber ? .nan : nil
        }

        /// The text for a non-finite number.
        package func text(of number: ParameterValue.Number) throws(ParameterFailure) -> String {
            guard case .text(let positive, let negative, let notANumber) = kind else {
                throw ParameterFailure("is a number that is infinite or not a number")
            }
            let double = number.double
            return double.isNaN ? notANumber : double > 0 ? positive : negative
        }
    }
}
