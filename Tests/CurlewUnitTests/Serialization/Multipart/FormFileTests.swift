import Glibc
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewLoad

@Suite("Form parts from files", .timeLimit(.minutes(1)))
struct FormFileTests {
    private func code(_ body: () throws -> Void) -> ErrorCode? {
        do {
            try body()
            return nil
        } catch { return (error as? CurlewError)?.code }
    }

    private func form(_ path: String, range: Range<Int64>? = nil) throws -> MultipartFormData {
        var form = try MultipartFormData.test()
        form.append("1", name: "a")
        try form.append(file: path, name: "f", range: range)
        return form
    }

    @Test("a path that is not a readable file is refused when it is appended")
    func refused() throws {
        let folder = try ScratchFolder()
        let pipe = folder.file("pipe")
        #expect(mkfifo(pipe, 0o600) == 0)
        var form = try MultipartFormData.test()
        for path in ["/nowhere/at/all", folder.path, "/", "", pipe, "/dev/zero", "/dev/null"] {
            #expect(code { try form.append(file: path, name: "f") } == .bodyFailed, "\(path)")
            #expect(code { try form.append(.file(path), name: "f") } == .bodyFailed, "\(path)")
        }
        #expect(form.isEmpty)
    }

    @Test("a file without read permission is refused when it is appended")
    func unreadable() throws {
        let folder = try ScratchFolder()
        var path = try folder.write("secret", [1])
        chmod(path, 0)
        // File permissions do not apply to root, except in files that the kernel itself makes unreadable.
        if geteuid() == 0 { path = "/proc/sys/vm/compact_memory" }
        var form = try MultipartFormData.test()
        #expect(code { try form.append(file: path, name: "f") } == .bodyFailed)
    }

    @Test("a range outside the file is refused")
    func ranges() throws {
        let folder = try ScratchFolder()
        let path = try folder.write("ten", Array(0..<10))
        var form = try MultipartFormData.test()
        for range in [0..<11, 10..<11, 11..<11] as [Range<Int64>] {
            #expect(code { try form.append(file: path, name: "f", range: range) } == .bodyLengthMismatch)
        }
        #expect(code { try form.append(file: path, name: "f", range: -1..<2) } == .bodyLengthMismatch)
        #expect(code { try form.append(.file(path, offset: 11), name: "f") } == .bodyLengthMismatch)
        #expect(code { try form.append(.file(path, offset: 1, length: -1), name: "f") } == .invalidRequest)
        #expect(code { try form.append(.file(path, offset: 1, length: .max), name: "f") } == .invalidRequest)
        #expect(form.isEmpty)
    }

    @Test("a part with an offset or a range sends those bytes of its file")
    func offsets() async throws {
        let folder = try ScratchFolder()
        let path = try folder.write("ten", Array("0123456789".utf8))
        var form = try MultipartFormData.test()
        try form.append(.file(path, offset: 7), name: "f")
        try form.append(.file(path, offset: 1, length: 2), name: "f")
        try form.append(file: path, name: "f", range: 10..<10)
        let values = try await form.text().split(separator: "\r\n\r\n", omittingEmptySubsequences: false).dropFirst()
        #expect(values.map { $0.prefix { $0 != "\r\n" } } == ["789", "12", ""])
    }

    @Test("a part has the name of its file without the folders, even if the name begins with a combining mark")
    func combiningName() async throws {
        let folder = try ScratchFolder()
        var form = try MultipartFormData.test()
        try form.append(file: folder.write("\u{301}b.txt", [0x31]), name: "f")
        let text = try await form.text()
        #expect(text.utf8.contains("filename=\"\u{301}b.txt\"\r\n".utf8), "\(text)")
    }

    @Test("an empty file is sent as an empty part")
    func empty() async throws {
        let folder = try ScratchFolder()
        let form = try form(try folder.write("empty", []))
        #expect(try await form.text().hasSuffix("Content-Type: application/octet-stream\r\n\r\n\r\n--B--\r\n"))
    }

    @Test("a file with size zero and content, as in /proc, is an error")
    func madeUp() async throws {
        let form = try form("/proc/self/status")
        let error = await curlewError { _ = try await form.body.bytes() }
        #expect(error?.code == .bodyLengthMismatch)
    }

    enum Change: String, CaseIterable {
        case grown, shrunk, vanished, replaced, overwritten, pipe, folder
    }

    private func change(_ change: Change, _ name: String, in folder: ScratchFolder) throws {
        let path = folder.file(name)
        switch change {
        case .grown: truncate(path, 11)
        case .shrunk: truncate(path, 9)
        case .vanished: unlink(path)
        case .replaced: rename(try folder.write("other", Array(0..<10)), path)
        case .overwritten:
            let descriptor = open(path, O_WRONLY)
            // The modification time might be unchanged within the clock's resolution, so it is set.
            var times = [timespec(tv_sec: 1, tv_nsec: 0), timespec(tv_sec: 1, tv_nsec: 0)]
            #expect(pwrite(descriptor, "x", 1, 0) == 1)
            futimens(descriptor, &times)
            close(descriptor)
        case .pipe:
            unlink(path)
            mkfifo(path, 0o600)
        case .folder:
            unlink(path)
            mkdir(path, 0o700)
        }
    }

    @Test("a file that changes between append and send fails before a byte is sent", arguments: Change.allCases)
    func changed(_ change: Change) async throws {
        let folder = try ScratchFolder()
        let form = try form(try folder.write("file", Array(0..<10)))
        try self.change(change, "file", in: folder)
        var sent: [UInt8] = []
        let error = await curlewError {
            for try await chunk in try await form.body.stream() { sent += chunk }
        }
        let isGone = [.vanished, .pipe, .folder].contains(change)
        #expect(error?.code == (isGone ? .bodyFailed : .bodyLengthMismatch))
        #expect(error?.message.hasPrefix("part 2 (f) of the form") == true)
        #expect(sent.isEmpty)
        #expect(code { try form.verifyFiles() } == error?.code)
    }

    @Test("a file that changes after the start fails before it is opened", arguments: Change.allCases)
    func changedLater(_ change: Change) async throws {
        let folder = try ScratchFolder()
        var form = try MultipartFormData.test()
        try form.append(.stream(length: 1) { chunks([[1]]) }, name: "s")
        try form.append(file: try folder.write("file", Array(0..<10)), name: "f")
        var iterator = FormChunks(form: form).makeAsyncIterator()
        var sent = try #require(try await iterator.next(isolation: #isolation))
        try self.change(change, "file", in: folder)
        let error = await curlewError {
            while let chunk = try await iterator.next(isolation: #isolation) { sent += chunk }
        }
        let isGone = [.vanished, .pipe, .folder].contains(change)
        #expect(error?.code == (isGone ? .bodyFailed : .bodyLengthMismatch))
        #expect(try await iterator.next(isolation: #isolation) == nil)
    }

    @Test("a file that changes while it is sent fails", arguments: [Change.grown, .shrunk, .overwritten])
    func changedMeanwhile(_ change: Change) async throws {
        let folder = try ScratchFolder()
        let size = 2 * CurlewRequest.Body.filePart
        let path = try folder.sparse("file", size: size)
        let form = try form(path)
        var iterator = try await form.body.stream().makeAsyncIterator()
        _ = try await iterator.next(isolation: #isolation)
        _ = try await iterator.next(isolation: #isolation)
        switch change {
        case .grown: truncate(path, off_t(size + 1))
        default: try self.change(change, "file", in: folder)
        }
        var sent = 0
        let error = await curlewError {
            while let chunk = try await iterator.next(isolation: #isolation) { sent += chunk.count }
        }
        #expect(error?.code == .bodyLengthMismatch)
        #expect(sent <= CurlewRequest.Body.filePart)
    }

    @Test("a file with a sent range may grow, but not be replaced or truncated")
    func growingRange() async throws {
        let folder = try ScratchFolder()
        let path = try folder.write("log", Array("0123456789".utf8))
        let form = try form(path, range: 0..<5)
        try change(.grown, "log", in: folder)
        #expect(try await form.text().contains("01234\r\n--B--"))
        try change(.replaced, "log", in: folder)
        #expect(await curlewError { _ = try await form.body.bytes() }?.code == .bodyLengthMismatch)
        let other = try self.form(path, range: 0..<10)
        try change(.shrunk, "log", in: folder)
        #expect(await curlewError { _ = try await other.body.bytes() }?.code == .bodyLengthMismatch)
    }
}
