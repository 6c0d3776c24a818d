/// The text of the help about items and exit statuses.
enum CallHelp {
    static let text = """
        METHOD is GET without a body and POST with one. http:// may be omitted, and
        :8080/x is on localhost. A subcommand wins: a host named 'queue' is written
        with its scheme.

        ITEMS:
          Name:value              a field; 'Name:' removes one, 'Name;' is empty
          name==value             a pair of the query
          name=value              a text in a JSON object
          name:=json              any other value in it: 5, true, '[1, 2]'
          name@file               a file in a form of several parts
          @file                   the complete body; - is standard input
          name=@file, name:=@file, name==@file, Name:@file
                                  the value from a file
        A backslash before a separator makes it a part of the name.

        Options with a name of curl mean what they mean there. Items make JSON, --data
        makes a form, and both together are an error. On a terminal JSON is formatted
        and coloured, and control characters are shown; elsewhere the body is left as
        it is.

        EXIT STATUS, that of curl where it has one:
          0  done                          35  TLS failed
          1  the scheme is not http(s)     47  too many redirects
          2  the command line is wrong     52  no answer
          3  the URL is wrong              56  the connection broke
          4  not available                 58  a certificate cannot be used
          5  the proxy is unknown          60  the server is not trusted
          6  the host is unknown           61  the compression is broken
          7  no connection                 63  too large
         16  HTTP/2 failed                 90  no pin matches
         18  the body is incomplete        97  the proxy failed
         22  the status, with --fail      120  a checksum or a length is wrong
         23  the output failed            121  another failure
         26  the input failed             130  interrupted
         28  out of time
        """
}
