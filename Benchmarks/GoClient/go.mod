module curlew/benchmarks/go

go 1.19
