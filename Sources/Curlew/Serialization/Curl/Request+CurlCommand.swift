extension Request {
    /// The request as a command for a POSIX shell that sends the same with `curl`.
    ///
    /// Every part is quoted, so that nothing in the request means anything to the shell. A body of text stands in the
    /// command; other bytes in Base 64 before it; a file is named; a stream, and bytes beyond 64 KiB, are to be piped into the
    /// command. Trailers, which curl cannot send, and options that have no counterpart are left out.
    /// - Parameter maskingSecrets: Puts `***` in place of user information and of the values of Authorization, Cookie and
    ///   the like. The query and the body are written as they are.
    public func curlCommand(maskingSecrets: Bool = true) -> String {
        CurlCommand(self, masksSecrets: maskingSecrets).text
    }
}
