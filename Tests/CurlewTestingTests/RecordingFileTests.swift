import Curlew
import CurlewTesting
import Foundation
import HTTPTypes
import Testing

@Suite("The file format of a Recording", .timeLimit(.minutes(1)))
struct RecordingFileTests {
    private let folder: ScratchFolder

    init() throws { self.folder = try ScratchFolder() }

    /// A recording with one element of each kind.
    private let recording = Recording(exchanges: [
        Recording.Exchange(
            request: Recording.Request(
                .post, url: "https://api.example.com/birds?page=2", fields: [.accept: "text/plain", .accept: "a/b"],
                body: Recording.Body("line one\r\nline two\n\nlast"), trailers: [.eTag: "\"1\""]),
            response: Recording.Response(
                .init(code: 299, reasonPhrase: "Fine by me"), fields: [.server: "Schön/1"],
                body: Recording.Body([0xff, 0, 0xfe], isComplete: false), trailers: [.eTag: "\"2\""], version: .http2,
                interim: [HTTPResponse(status: .init(code: 103), headerFields: [.init("Link")!: "</a.css>"])]),
            failure: Recording.Failure(.connectionLost, "it broke", stage: .receiving)),
        Recording.Exchange(
            request: Recording.Request(.init("PURGE")!, url: "http://a/"),
            failure: Recording.Failure(.init(rawValue: "a-code-of-the-future"), stage: .connecting)),
        Recording.Exchange(
            request: Recording.Request(.get, url: "http://a/"),
            response: Recording.Response(
                .ok, fields: HTTPFields([HTTPField(name: .server, value: [0x53, 0xe4])]),
                body: Recording.Body(#"{"ä": "\u{2028}\u{1F426}"}"#))),
        Recording.Exchange(
            request: Recording.Request(.get, url: "http://a/"),
            response: Recording.Response(.notFound, body: Recording.Body([], isComplete: false), version: .http10)),
    ])

    @Test("a recording survives writing and reading, and equal recordings make equal files")
    func roundTrip() throws {
        try self.recording.write(to: self.folder.file("a.json"))
        let read = try Recording(contentsOf: self.folder.file("a.json"))
        #expect(read == self.recording)
        #expect(read.exchanges[0].response?.status.reasonPhrase == "Fine by me")
        #expect(
            read.exchanges[2].response?.fields[fields: .server].first?.withUnsafeBytesOfValue { Array($0) } == [
                0x53, 0xe4,
            ])
        try read.write(to: self.folder.file("b.json"))
        #expect(try self.folder.text("a.json") == self.folder.text("b.json"))
    }

    @Test("a file is legible: text stays text with its line breaks, members have a fixed order")
    func readable() throws {
        try Recording(exchanges: [self.recording.exchanges[0]]).write(to: self.folder.file("a.json"))
        let text = try self.folder.text("a.json")
        let expected = #"""
            {
              "exchanges" : [
                {
                  "failure" : {
                    "code" : "connection-lost",
                    "message" : "it broke",
                    "stage" : "receiving"
                  },
                  "request" : {
                    "body" : {
                      "lines" : [
                        "line one\r\n",
                        "line two\n",
                        "\n",
                        "last"
                      ]
                    },
                    "fields" : [
                      "Accept: text/plain",
                      "Accept: a/b"
                    ],
                    "method" : "POST",
                    "trailers" : [
                      "ETag: \"1\""
                    ],
                    "url" : "https://api.example.com/birds?page=2"
                  },
                  "response" : {
                    "body" : {
                      "base64" : "/wD+",
                      "isComplete" : false
                    },
                    "fields" : [
                      "Server: Schön/1"
                    ],
                    "interim" : [
                      {
                        "fields" : [
                          "Link: </a.css>"
                        ],
                        "status" : "103"
                      }
                    ],
                    "status" : "299 Fine by me",
                    "trailers" : [
                      "ETag: \"2\""
                    ],
                    "version" : "HTTP/2"
                  }
                }
              ],
              "version" : 1
            }

            """#
        #expect(text == expected)
    }

    @Test("a truncated file is an error that names the file")
    func truncated() throws {
        try self.recording.write(to: self.folder.file("a.json"))
        let text = try self.folder.text("a.json")
        for count in stride(from: 0, to: text.utf8.count - 2, by: 37) {
            try self.folder.write("cut.json", String(text.prefix(count)))
            let error = #expect(throws: CurlewError.self) { try Recording(contentsOf: self.folder.file("cut.json")) }
            #expect(error?.code == .recordingFailed)
            #expect(error?.message.hasPrefix("\(self.folder.file("cut.json")) is not a recording: ") == true)
        }
    }

    @Test(
        "an invalid recording is an error with its place and reason",
        arguments: [
            ("garbage", "line 1, column 1"), ("[]", "another type"), ("{}", "version: it is missing"),
            (#"{"version":2,"exchanges":7}"#, "version: the format has version 2, and this release of Curlew reads 1"),
            (#"{"version":1}"#, "exchanges: it is missing"),
            (#"{"version":1,"exchanges":[{}]}"#, "exchanges[0].request: it is missing"),
            (#"{"version":1,"exchanges":[R]}"#, "exchanges[0].response: there is neither a response nor a failure"),
            (
                #"{"version":1,"exchanges":[R,"response":{"status":"OK","version":"HTTP/2"}}]}"#,
                "exchanges[0].response.status: the value is not a status"
            ),
            (
                #"{"version":1,"exchanges":[R,"response":{"status":"200","version":"HTTP/7"}}]}"#,
                "exchanges[0].response.version: the value is not a version of HTTP"
            ),
            (
                #"{"version":1,"exchanges":[R,"response":{"status":"200","version":"HTTP/2","fields":["a: b","c"]}}]}"#,
                "exchanges[0].response.fields[1]: a field without a colon"
            ),
            (
                #"{"version":1,"exchanges":[R,"response":{"status":"200","version":"HTTP/2","fields":["a: b\n"]}}]}"#,
                "exchanges[0].response.fields[0]: the value of a holds a control character"
            ),
            (
                #"{"version":1,"exchanges":[R,"response":{"status":"200","version":"HTTP/2","body":{"base64":"?"}}}]}"#,
                "exchanges[0].response.body.base64: the value is not Base64"
            ),
            (
                #"{"version":1,"exchanges":[{"request":{"method":"GET","url":"/a"}}]}"#,
                "exchanges[0].request.url: the value is not an absolute URL"
            ),
            (
                #"{"version":1,"exchanges":[{"request":{"method":"G T","url":"http://a/"}}]}"#,
                "exchanges[0].request.method: the value is not a method"
            ),
        ])
    func faults(text: String, reason: String) throws {
        let isClosed = text.contains("[R]")
        let request = #"{"request":{"method":"GET","url":"http://a/"}"# + (isClosed ? "}" : "")
        try self.folder.write("a.json", text.replacing("[R", with: "[" + request))
        let error = #expect(throws: CurlewError.self) { try ReplayTransport(contentsOf: self.folder.file("a.json")) }
        #expect(error?.code == .recordingFailed)
        let message = try #require(error?.message)
        #expect(message.hasPrefix(self.folder.file("a.json")) && message.contains(reason))
    }

    @Test("a missing file, a folder and an oversized file are errors that name the path")
    func unreadable() throws {
        let sparse = self.folder.file("large")
        try self.folder.write("large", "")
        #expect(truncate(sparse, off_t(Recording.fileLimit.bytes + 1)) == 0)
        for (path, reason) in [
            (self.folder.file("none"), "No such file"), (self.folder.path, "it is no file"),
            (sparse, "is larger than"),
        ] {
            let error = #expect(throws: CurlewError.self) { try Recording(contentsOf: path) }
            #expect(error?.code == .recordingFailed)
            #expect(error?.message.contains(path) == true && error?.message.contains(reason) == true)
        }
    }
}
