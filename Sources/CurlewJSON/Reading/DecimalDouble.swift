/// The doubles nearest to decimal numbers of up to nineteen digits.
enum DecimalDouble {
    /// The double nearest to `mantissa` · 10^`exponent`; nil if 128 bits cannot determine it, and for rare exponents.
    @inline(__always)
    static func value(of mantissa: UInt64, timesTenTo exponent: Int) -> Double? {
        // Both operands are exact doubles, so the result is rounded only once.
        if mantissa <= 1 << 53, -22...22 ~= exponent {
            let factor = powersOfTen[abs(exponent)]
            return exponent < 0 ? Double(mantissa) / factor : Double(mantissa) * factor
        }
        return exponent == 0 ? Double(mantissa) : scaled(mantissa, exponent)
    }

    /// The powers of ten that doubles represent exactly.
    private static let powersOfTen: [Double] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
        1e20,
        1e21, 1e22,
    ]

    /// Multiplies by the first 128 bits of a power of five, which are exact or slightly too small. The result is valid
    /// if the product and the largest possible true product are rounded to the same double.
    private static func scaled(_ mantissa: UInt64, _ exponent: Int) -> Double? {
        guard mantissa != 0 else { return 0 }
        guard -PowerOfFive.greatest...PowerOfFive.greatest ~= exponent else { return nil }
        let power = PowerOfFive.all[exponent + PowerOfFive.greatest]
        let shift = mantissa.leadingZeroBitCount
        let digits = mantissa << UInt64(shift)
        // The first 128 of 192 bits. The missing bits of the power and the bits that are cut off here are each less
        // than one.
        let high = digits.multipliedFullWidth(by: UInt64(truncatingIfNeeded: power.bits >> 64))
        let low = digits.multipliedFullWidth(by: UInt64(truncatingIfNeeded: power.bits)).high
        let product = UInt128(high.high) << 64 + UInt128(high.low) + UInt128(low)
        // A double keeps 53 bits.
        let cut = 128 - product.leadingZeroBitCount - 53
        let rest = product & ((1 << UInt128(cut)) - 1)
        let half: UInt128 = 1 << UInt128(cut - 1)
        guard rest + 2 <= half || rest > half else { return nil }
        let kept = Double(UInt64(product >> UInt128(cut)) + (rest > half ? 1 : 0))
        // The exponents are small, so the result is a normal number. A factor of two only changes its exponent field.
        let scale = cut + 64 - shift + power.exponent + exponent
        return Double(bitPattern: kept.bitPattern &+ UInt64(bitPattern: Int64(scale)) << 52)
    }
}

/// A power of five as `bits` · 2^`exponent`; the first bit is set.
private struct PowerOfFive {
    let bits: UInt128
    let exponent: Int

    /// The largest exponent whose reciprocal can be divided within 128 bits.
    static let greatest = 54

    /// The powers from 5^-54 to 5^54. Those with a positive exponent are exact, those with a negative one are rounded
    /// down.
    static let all: [PowerOfFive] = (-greatest...greatest).map { power in
        let value = (0..<abs(power)).reduce(UInt128(1)) { product, _ in product * 5 }
        let shift = value.leadingZeroBitCount
        guard power < 0 else { return PowerOfFive(bits: value << UInt128(shift), exponent: -shift) }
        let exponent = 127 + 128 - shift
        var (quotient, rest) = (UInt128(0), UInt128(1))
        for _ in 0..<exponent {
            rest *= 2
            quotient = quotient << 1 + (rest >= value ? 1 : 0)
            if rest >= value { rest -= value }
        }
        return PowerOfFive(bits: quotient, exponent: -exponent)
    }
}
