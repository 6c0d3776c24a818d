extension Transfer {
    /// The limits of the transfer, from its start on or from now on.
    /// - Parameter limit: Its own; that of the session is the multi handle's.
    func setRateLimit(_ limit: RateLimit) {
        guard outcome == nil else { return }
        if limit == .none, multi.rate == nil {
            pace?.release()
            pace = nil
        } else if let pace {
            pace.change(limit: limit, shared: multi.rate)
        } else {
            pace = Pace(for: self, limit: limit, shared: multi.rate)
        }
        // What waited for the old limits asks again.
        release([.sendingRate, .receivingRate])
    }

    /// The part of `space` that may be filled now; nil is to wait.
    func paced(_ space: UnsafeMutableRawBufferPointer) -> UnsafeMutableRawBufferPointer? {
        guard let pace else { return space }
        let count = pace.allowance(for: space.count, on: pace.sending)
        guard count > 0 else {
            holds.insert(.sendingRate)
            return nil
        }
        return UnsafeMutableRawBufferPointer(rebasing: space[..<count])
    }

    /// Whether the bytes may pass now.
    func isPaceKept(receiving count: Int) -> Bool {
        guard let pace, !pace.admits(count, on: pace.receiving) else { return true }
        holds.insert(.receivingRate)
        return false
    }
}
