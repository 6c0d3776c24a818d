extension Array {
    /// Removes the element at an index. The last element takes its place, so that no other moves.
    /// - Returns: The element that has moved; nil if the last one was removed.
    mutating func remove(swappingAt index: Int) -> Element? {
        let last = removeLast()
        guard index < count else { return nil }
        self[index] = last
        return last
    }
}
