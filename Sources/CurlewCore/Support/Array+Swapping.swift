extension Array {
    /// Removes the element at an index. The last element takes its place, so that no other element moves.
    /// - Returns: The moved element; nil if the last element was removed.
    mutating func remove(swappingAt index: Int) -> Element? {
        let last = removeLast()
        guard index < count else { return nil }
        self[index] = last
        return last
    }
}
