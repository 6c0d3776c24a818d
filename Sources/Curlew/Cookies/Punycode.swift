/// The ASCII form of a label that has other characters (RFC 3492).
enum Punycode {
    private static let base: UInt32 = 36

    /// The label after `xn--`; nil for one whose numbers would overflow.
    static func encode(_ label: some StringProtocol) -> String? {
        let scalars = label.unicodeScalars.map(\.value)
        var output = scalars.filter { $0 < 0x80 }.map { UInt8($0) }
        let basicCount = UInt32(output.count)
        var handled = basicCount
        if basicCount > 0 { output.append(UInt8(ascii: "-")) }
        var last: UInt32 = 0x80
        var delta: UInt32 = 0
        var bias: UInt32 = 72
        while handled < scalars.count {
            guard let next = scalars.filter({ $0 >= last }).min() else { return nil }
            let (step, overflow) = (next - last).multipliedReportingOverflow(by: handled + 1)
            let (sum, isTooLarge) = delta.addingReportingOverflow(step)
            guard !overflow, !isTooLarge, sum < .max - UInt32(scalars.count) else { return nil }
            delta = sum
            for scalar in scalars {
                if scalar < next { delta += 1 }
                guard scalar == next else { continue }
                append(delta, bias: bias, to: &output)
                bias = adapted(delta, isFirst: handled == basicCount, count: handled + 1)
                delta = 0
                handled += 1
            }
            delta += 1
            last = next + 1
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// A number of variable length, its lowest digit first.
    private static func append(_ delta: UInt32, bias: UInt32, to output: inout [UInt8]) {
        var rest = delta
        var position = base
        while true {
            let threshold = position <= bias ? 1 : min(position - bias, 26)
            guard rest >= threshold else { break }
            output.append(digit(threshold + (rest - threshold) % (base - threshold)))
            rest = (rest - threshold) / (base - threshold)
            position += base
        }
        output.append(digit(rest))
    }

    private static func digit(_ value: UInt32) -> UInt8 {
        value < 26 ? UInt8(ascii: "a") + UInt8(value) : UInt8(ascii: "0") + UInt8(value - 26)
    }

    private static func adapted(_ delta: UInt32, isFirst: Bool, count: UInt32) -> UInt32 {
        var delta = isFirst ? delta / 700 : delta / 2
        delta += delta / count
        var steps: UInt32 = 0
        while delta > (base - 1) * 26 / 2 {
            delta /= base - 1
            steps += base
        }
        return steps + base * delta / (delta + 38)
    }
}
