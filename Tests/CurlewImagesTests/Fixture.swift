#if Images
import Foundation
import Testing

@testable import CurlewImages

/// An image of the folder Fixtures. Most show red, green, blue and white quarters in upright orientation.
enum Fixture {
    static let folder = String(#filePath.dropLast("Fixture.swift".count)) + "Fixtures/"

    static func bytes(_ name: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(filePath: folder + name))) }

    static func names(_ ending: String = "", in part: String = "") throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder + part)
            .filter { $0.hasSuffix(ending) && $0.contains(".") && !$0.hasSuffix(".py") }.sorted()
    }
}

extension Image {
    /// The colour of a pixel.
    func color(_ x: Int, _ y: Int) -> [UInt8] {
        let place = (y * size.width + x) * 4
        return Array(pixels[place..<(place + 4)])
    }

    /// Expects the upright quarters.
    func expectQuarters(
        tolerance: Int = 12, _ comment: Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let (left, right) = (size.width / 4, size.width * 3 / 4)
        let (top, bottom) = (size.height / 4, size.height * 3 / 4)
        expect([230, 20, 20, 255], left, top, tolerance, comment, sourceLocation)
        expect([20, 200, 20, 255], right, top, tolerance, comment, sourceLocation)
        expect([20, 20, 220, 255], left, bottom, tolerance, comment, sourceLocation)
        expect([250, 250, 250, 255], right, bottom, tolerance, comment, sourceLocation)
    }

    private func expect(
        _ color: [UInt8], _ x: Int, _ y: Int, _ tolerance: Int, _ comment: Comment?, _ sourceLocation: SourceLocation
    ) {
        let found = self.color(x, y)
        let isNear = zip(found, color).allSatisfy { abs(Int($0) - Int($1)) <= tolerance }
        #expect(isNear, "\(comment ?? "") \(found) at \(x), \(y), not \(color)", sourceLocation: sourceLocation)
    }
}
#endif
