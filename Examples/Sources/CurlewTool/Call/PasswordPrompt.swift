import ArgumentParser
import Curlew
import Glibc
import TerminalOutput

/// The question for a password on the terminal.
enum PasswordPrompt {
    /// Asks for the password of a user, without an echo. Ctrl-C ends the process with 130.
    ///
    /// `getpass` is not used: it takes Ctrl-C for a character of the password.
    static func password(of user: String) throws -> String {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC)
        var settings = termios()
        guard terminal >= 0, tcgetattr(terminal, &settings) == 0 else {
            throw ValidationError("--user needs user:password; there is no terminal to ask for the password.")
        }
        defer { close(terminal) }
        var silent = settings
        silent.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG)
        // The change discards earlier input, so it comes before the question.
        tcsetattr(terminal, TCSAFLUSH, &silent)
        Terminal.write("password of \(printable(user)): ", to: terminal)
        var line = PasswordLine()
        while line.state == .open {
            var byte: UInt8 = 0
            let count = read(terminal, &byte, 1)
            if count == 1 { line.append(byte) } else if count == 0 || errno != EINTR { line.end() }
        }
        tcsetattr(terminal, TCSAFLUSH, &settings)
        Terminal.write("\n", to: terminal)
        if line.state == .interrupted { throw ExitCode(130) }
        return line.text
    }
}
