internal import FoundationEssentials
internal import FuzzingKit

@testable internal import CurlewCore

/// A fuzz target for property lists. The check of a list must end within its bounds, and Foundation's decoder must
/// survive every accepted list.
@main
struct FuzzPropertyLists: FuzzTarget {
    static func check(_ input: [UInt8]) {
        var choices = Choices(input)
        var options = PropertyListReadingOptions()
        options.maximumDepth = choices.one(of: [512, 4])
        options.expandedSize = .kibibytes(64)
        let list = choices.rest
        guard (try? PropertyListCheck.check(list, options: options)) != nil else { return }
        guard let tree = try? PropertyListDecoder().decode(Tree.self, from: Data(list)) else { return }
        // The values within the deepest container are one level below it.
        require(tree.depth <= options.maximumDepth + 1, "the list is deeper than the check let through")
    }
}

/// A property list of any type.
indirect enum Tree: Decodable {
    case leaf
    case array([Tree])
    case dictionary([String: Tree])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let values = try? container.decode([Tree].self) {
            self = .array(values)
        } else if let members = try? container.decode([String: Tree].self) {
            self = .dictionary(members)
        } else {
            self = .leaf
        }
    }

    var depth: Int {
        switch self {
        case .leaf: 1
        case .array(let values): 1 + (values.map(\.depth).max() ?? 0)
        case .dictionary(let members): 1 + (members.values.map(\.depth).max() ?? 0)
        }
    }
}
