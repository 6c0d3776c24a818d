import TestHelpers

@testable import CurlewWebSockets

extension PlainFrame {
    /// The frame with the mask that an endpoint in this role requires.
    func masked(to role: WebSocketRole) -> PlainFrame {
        var frame = self
        if role == .server { frame.mask = [0x37, 0xFA, 0x21, 0x3D] }
        return frame
    }
}
