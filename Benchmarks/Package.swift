// swift-tools-version: 6.2

import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

let package = Package(
    name: "curlew-benchmarks",
    products: [
        .executable(name: "bench-cache", targets: ["Caching"]),
        .executable(name: "bench-curlew", targets: ["CurlewClient"]),
        .executable(name: "bench-ahc", targets: ["AsyncHTTPClientClient"]),
        .executable(name: "bench-gateway-server", targets: ["GatewayServers"]),
        .executable(name: "bench-images", targets: ["Pictures"]),
        .executable(name: "bench-urlsession", targets: ["URLSessionClient"]),
        .executable(name: "bench-raw", targets: ["RawClient"]),
        .executable(name: "bench-server", targets: ["Server"]),
        .executable(name: "bench-serialization", targets: ["Serialization"]),
    ],
    dependencies: [
        .package(name: "curlew", path: "..", traits: [.defaults, "Images", "Service", "Storage"]),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        .target(name: "BenchmarkKit", swiftSettings: settings),
        .executableTarget(
            name: "Caching",
            dependencies: [
                "BenchmarkKit",
                .product(name: "Curlew", package: "curlew"),
                .product(name: "CurlewStorage", package: "curlew"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "CurlewClient",
            dependencies: [
                "BenchmarkKit",
                .product(name: "Curlew", package: "curlew"),
                .product(name: "CurlewService", package: "curlew"),
                .product(name: "CurlewWebSockets", package: "curlew"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "AsyncHTTPClientClient",
            dependencies: [
                "BenchmarkKit",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOFoundationEssentialsCompat", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "_NIOFileSystem", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        // The gateway of the examples, by a link to its folder.
        .target(
            name: "Gateway",
            dependencies: [
                .product(name: "Curlew", package: "curlew"),
                .product(name: "CurlewService", package: "curlew"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "GatewayServers",
            dependencies: [
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Curlew", package: "curlew"),
                .product(name: "CurlewService", package: "curlew"),
                "Gateway",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(name: "URLSessionClient", dependencies: ["BenchmarkKit"], swiftSettings: settings),
        .executableTarget(
            name: "Pictures",
            dependencies: [
                .product(name: "Curlew", package: "curlew"),
                .product(name: "CurlewImages", package: "curlew"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(name: "RawClient", linkerSettings: [.linkedLibrary("curl")]),
        .executableTarget(name: "Server", linkerSettings: [.linkedLibrary("crypto")]),
        .executableTarget(
            name: "Serialization",
            dependencies: [
                "BenchmarkKit",
                .product(name: "Curlew", package: "curlew"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
