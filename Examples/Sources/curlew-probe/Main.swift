import Glibc
import Probe

/// The conformance probe: `Examples/PROBE.md` describes its input and output.
@main
struct Main {
    static func main() async {
        // A closed output is a failed write, not a signal.
        signal(SIGPIPE, SIG_IGN)
        let input = LineReader(descriptor: STDIN_FILENO)
        let output = LineWriter(descriptor: STDOUT_FILENO)
        let probe = Probe { line in
            // Without a reader of the answers the program has nothing left to do.
            if await !output.write(line) { _exit(0) }
        }
        while let line = await input.next() { await probe.accept(line) }
        await probe.finish()
    }
}
