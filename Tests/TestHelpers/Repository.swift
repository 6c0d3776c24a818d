import Foundation

/// The files of the repository, for the tests that compare documentation and code.
package enum Repository {
    package static let root = String(#filePath.dropLast("/Tests/TestHelpers/Repository.swift".count))

    /// The text of a file.
    /// - Parameter path: The path from the repository's top folder.
    package static func text(of path: String) throws -> String {
        try String(contentsOfFile: "\(root)/\(path)", encoding: .utf8)
    }

    /// The paths of the Swift files below folders of the repository, without build folders.
    package static func swiftFiles(under folders: String...) throws -> [String] {
        try folders.flatMap { folder in
            try FileManager.default.subpathsOfDirectory(atPath: "\(root)/\(folder)").filter { path in
                path.hasSuffix(".swift") && !path.split(separator: "/").contains { $0.hasPrefix(".build") }
            }.map { "\(folder)/\($0)" }
        }
    }

    /// Paths of the module maps of the C libraries.
    package static func moduleMaps() throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: "\(root)/Sources")
            .filter { $0.hasSuffix("module.modulemap") }.map { "\(root)/Sources/\($0)" }
    }

    /// The names of the subfolders of a folder.
    package static func folders(in folder: String) throws -> Set<String> {
        let names = try FileManager.default.contentsOfDirectory(atPath: "\(root)/\(folder)")
        return Set(
            names.filter { name in
                var isFolder: ObjCBool = false
                return FileManager.default.fileExists(atPath: "\(root)/\(folder)/\(name)", isDirectory: &isFolder)
                    && isFolder.boolValue
            })
    }

    /// The Swift files below a folder; the subfolder of a file is its room.
    package static func sources(in folder: String) throws -> [SourceFile] {
        let paths = try FileManager.default.subpathsOfDirectory(atPath: "\(root)/\(folder)")
        return try paths.filter { $0.hasSuffix(".swift") && $0.contains("/") }.map { path in
            SourceFile(
                room: String(path.prefix { $0 != "/" }), name: (path as NSString).lastPathComponent,
                text: try text(of: "\(folder)/\(path)"))
        }
    }
}

/// A source file and its room.
package struct SourceFile: Sendable {
    package let room: String
    package let name: String
    package let text: String

    package init(room: String, name: String, text: String) {
        self.room = room
        self.name = name
        self.text = text
    }
}
