internal import FuzzingKit

@testable internal import CurlewCore
@testable internal import CurlewJSON
@testable internal import CurlewSupport

/// A fuzz target for parameters in queries, forms and JSON, with random trees and styles. A form must contain only
/// allowed bytes, and its decoded pairs must equal those of a plain walk of the tree. A URI must accept the form
/// unchanged, except for separators at its beginning, and the JSON must be readable.
@main
struct FuzzParameters: FuzzTarget {
    static func check(_ input: [UInt8]) {
        var choices = Choices(input)
        let style = choices.parameterStyle()
        let tree = choices.tree(depth: 0)
        checkForm(tree, style)
        var json = JSONCoding.Style()
        json.options = JSONCoding.Style.Options(rawValue: choices.number(below: 16))
        json.dates = style.dates
        json.nonFinite = style.nonFinite
        checkJSON(tree, json)
    }

    private static func checkForm(_ tree: ParameterValue, _ style: RequestParameters.Style) {
        guard let form = try? style.form(tree) else { return }
        checkBytes(form, style)
        let decoded = PlainForm.pairs(of: form, plusIsSpace: style.spaces == .plus)
        let expected = PlainWalk.pairs(of: tree, style)
        // A single pair without name and value is an empty form, like no pair.
        if form.isEmpty, expected == [PlainPair(name: [], value: nil)] { return }
        requireEqual(decoded.map(\.name), expected.map(\.name), "the names are not those of the tree")
        requireEqual(decoded.map(\.value), expected.map(\.value), "the values are not those of the tree")
        let pairs = (try? style.pairs(of: tree)) ?? []
        requireEqual(
            pairs.map { Array($0.name.utf8) }, expected.map(\.name), "the pairs have other names than the form")
        // A URI takes no separator at the beginning of a form, and no empty form.
        let added = form.drop { $0 == "&" }
        let uri = try? CurlewURI("http://h/?a#b").appending(query: form)
        requireEqual(uri?.query, added.isEmpty ? "a" : "a&\(added)", "a URI changes the form")
    }

    private static func checkBytes(_ form: String, _ style: RequestParameters.Style) {
        var allowed = Set("-._~/?&=%".utf8)
        if style.spaces == .plus { allowed.insert(UInt8(ascii: "+")) }
        if style.arrays == .commas { allowed.insert(UInt8(ascii: ",")) }
        let bytes = Array(form.utf8)
        for (place, byte) in bytes.enumerated() {
            require(
                byte.isLetter || byte.isDigit || allowed.contains(byte), "a form holds a byte that has to be escaped")
            guard byte == UInt8(ascii: "%") else { continue }
            let digits = bytes[(place + 1)...].prefix(2)
            require(
                digits.count == 2 && digits.allSatisfy { "0123456789ABCDEF".utf8.contains($0) }, "an escape is broken")
        }
    }

    private static func checkJSON(_ tree: ParameterValue, _ style: JSONCoding.Style) {
        guard let text = try? tree.json(style: style) else { return }
        guard let value = try? JSONValue(parsing: text) else {
            return require(false, "the JSON cannot be read: \(String(decoding: text, as: UTF8.self))")
        }
        switch (tree, value) {
        case (.dictionary(let dictionary), .object(let object)):
            requireEqual(Set(object.keys), Set(dictionary.keys), "keys are lost")
        case (.array(let values), .array(let read)): requireEqual(read.count, values.count, "elements are lost")
        case (.string(let text), .string(let read)): requireEqual(Array(read.utf8), Array(text.utf8), "text is changed")
        case (.dictionary, _), (.array, _): require(false, "a container is something else when it is read")
        default: break
        }
    }
}
