import CurlewImages

/// An image as text: each character shows two pixels, one above the other.
enum HalfBlocks {
    /// - Parameter columns: The maximum number of columns; the height follows from the image's proportions.
    static func text(_ image: Image, columns: Int) throws -> String {
        // The preview of a tall image has at most 500 lines.
        let columns = max(1, min(columns, image.size.width * 1000 / image.size.height))
        let rows = max(2, image.size.height * columns / image.size.width)
        let small = try ImageFilter.resized(to: Image.Size(columns, min(1000, rows + rows % 2))).apply(to: image)
        var text = ""
        for y in stride(from: 0, to: small.size.height, by: 2) {
            for x in 0..<small.size.width {
                text += "\u{1B}[38;2;\(color(small, x, y));48;2;\(color(small, x, y + 1))m▀"
            }
            text += "\u{1B}[0m\n"
        }
        return text
    }

    private static func color(_ image: Image, _ x: Int, _ y: Int) -> String {
        let place = (y * image.size.width + x) * 4
        return image.pixels[place..<(place + 3)].map { "\($0)" }.joined(separator: ";")
    }
}
