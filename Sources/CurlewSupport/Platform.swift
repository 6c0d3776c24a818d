#if !os(Linux)
#error("Curlew needs Linux: open this package in its devcontainer, .devcontainer/devcontainer.json.")
#endif
