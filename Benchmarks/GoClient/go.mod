module curlew/benchmarks/go

go 1.19

require github.com/gorilla/websocket v1.5.0

// Debian's package golang-github-gorilla-websocket-dev: the build needs no network.
replace github.com/gorilla/websocket => /usr/share/gocode/src/github.com/gorilla/websocket
