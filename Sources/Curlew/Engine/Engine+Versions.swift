/// What the libcurl that is loaded does wrong, or differently, by its version; who works around it asks here. What began after
/// 7.88 stands with its way around. The article Architecture has the table.
extension Engine {
    /// Before 8.0 it does not look whether something waits on an idle connection that it is about to use again.
    static let overlooksStrayInput = versionNumber < 0x080000

    /// Before 8.1 a handle keeps a pointer to the newest field line of an exchange that has ended, and frees the line with the
    /// next one; a folded first line is then joined to freed memory, before the callback for heads sees it
    /// (<https://github.com/curl/curl/issues/11101>). So the lines up to the first field are also shown as if they were of the
    /// body (`CURLOPT_HEADER`), which comes before.
    static let joinsFreedLines = versionNumber < 0x080100

    /// Before 8.5 it asks for a writable socket also while HTTP/2's flow control lets nothing out.
    static let asksInVain = versionNumber < 0x080500

    /// Before 8.7 each transfer allocates a read buffer and frees it at the end, unless it ended early; a handle that has one
    /// takes no other size.
    static let allocatesReadBuffers = versionNumber < 0x080700

    /// Before 8.7 what it shows of the bytes that arrive is what the socket brought. From then on it is the body after chunked
    /// coding, and the marks of chunks are shown to nobody.
    static let showsRawBody = versionNumber < 0x080700

    /// Before 8.8 it never clears the system's error that it noted for a handle, and would tell it as the reason of a later
    /// failure, or take that for a timeout.
    static let remembersErrors = versionNumber < 0x080800

    /// From 8.10 on it closes idle connections until there are fewer than the limit, and else waits; before, it closed one.
    static let recountsConnections = versionNumber >= 0x080A00

    /// From 8.10 on it keeps TLS sessions as bytes; before, it kept OpenSSL's objects.
    static let keepsSessionsAsBytes = versionNumber >= 0x080A00
}
