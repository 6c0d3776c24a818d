/// The buffer into which the sockets of a loop are read, one after the other.
final class SharedBuffer {
    var buffer = ReceiveBuffer()
}
