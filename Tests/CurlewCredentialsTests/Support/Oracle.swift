import Foundation

/// A file of results that another implementation has written, in the folder `Oracle`.
enum Oracle {
    static func load<Value: Decodable>(_ name: String, as type: Value.Type, from path: String = #filePath) throws
        -> Value
    {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().deletingLastPathComponent()
        let data = try Data(contentsOf: folder.appendingPathComponent("Oracle").appendingPathComponent(name))
        return try JSONDecoder().decode(type, from: data)
    }
}
