/// A removal of dot segments that follows RFC 3986 §5.2.4 literally, one rule per branch, for paths that begin with a
/// slash.
enum PlainDots {
    static func remove(from path: String) -> String {
        var input = Array(path.utf8)[...]
        var output: [UInt8] = []
        while !input.isEmpty {
            if input.starts(with: "/./".utf8) {
                input = input.dropFirst(2)
            } else if input.elementsEqual("/.".utf8) {
                input = Array("/".utf8)[...]
            } else if input.starts(with: "/../".utf8) {
                input = input.dropFirst(3)
                removeLast(&output)
            } else if input.elementsEqual("/..".utf8) {
                input = Array("/".utf8)[...]
                removeLast(&output)
            } else {
                let end = input.dropFirst().firstIndex(of: UInt8(ascii: "/")) ?? input.endIndex
                output += input[..<end]
                input = input[end...]
            }
        }
        return String(decoding: output, as: UTF8.self)
    }

    private static func removeLast(_ output: inout [UInt8]) {
        while let byte = output.popLast(), byte != UInt8(ascii: "/") {}
    }
}
