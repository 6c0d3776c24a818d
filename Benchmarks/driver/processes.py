"""Servers that do not outlive the driver, however it ends."""

import ctypes
import signal
import subprocess

PR_SET_PDEATHSIG = 1
C_LIBRARY = ctypes.CDLL(None)


def die_with_parent() -> None:
    C_LIBRARY.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def take_signals() -> None:
    """Ends on both signals as on Ctrl-C, even where the shell has them ignored: servers are stopped and their folder is
    removed on the way out."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)


def start(command: list[str], **options) -> subprocess.Popen:
    """Starts a server in a process group of its own, so that Ctrl-C reaches the driver first."""
    return subprocess.Popen(command, start_new_session=True, preexec_fn=die_with_parent, **options)


def stop(process: subprocess.Popen | None) -> None:
    """Ends a server that was started and waits until it has gone."""
    if process is None or process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
