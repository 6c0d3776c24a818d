// The system's C library. Every other file imports this module instead, so that a further platform is named here alone.
#if os(Linux)
@_exported public import Glibc
#else
#error("Curlew needs Linux: open this package in its devcontainer, .devcontainer/devcontainer.json.")
#endif
