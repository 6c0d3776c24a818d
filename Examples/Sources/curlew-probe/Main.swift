import Glibc
import Probe

/// The conformance probe: `Examples/PROBE.md` says what it reads and writes.
@main
struct Main {
    static func main() async {
        // A reader that goes away is an answer that cannot be written, not a signal.
        signal(SIGPIPE, SIG_IGN)
        let input = LineReader(descriptor: STDIN_FILENO)
        let output = LineWriter(descriptor: STDOUT_FILENO)
        let probe = Probe { line in
            // Nobody listens any more: there is nothing left to do, and nobody to tell.
            if await !output.write(line) { _exit(0) }
        }
        while let line = await input.next() { await probe.accept(line) }
        await probe.finish()
    }
}
