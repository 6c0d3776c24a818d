import Foundation

/// A file with results of another implementation, in the folder `Oracle`.
enum Oracle {
    static func load<Value: Decodable>(_ name: String, as type: Value.Type, from path: String = #filePath) throws
        -> Value
    {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().deletingLastPathComponent()
        let data = try Data(contentsOf: folder.appendingPathComponent("Oracle").appendingPathComponent(name))
        return try JSONDecoder().decode(type, from: data)
    }
}
