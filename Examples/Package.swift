// swift-tools-version: 6.2

import PackageDescription

var settings: [SwiftSetting] = [
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

// The settings of a package that `swift package init` makes.
var userSettings: [SwiftSetting] = []

// The setting equals that of the package above.
if Context.environment["CURLEW_WARNINGS_AS_ERRORS"] == "1" {
    settings.append(.treatAllWarnings(as: .error))
    userSettings.append(.treatAllWarnings(as: .error))
}

let package = Package(
    name: "curlew-examples",
    products: [
        .executable(name: "aggregator", targets: ["aggregator-server"]),
        .executable(name: "cookbook", targets: ["curlew-cookbook"]),
        .executable(name: "curlew", targets: ["curlew"]),
        .executable(name: "curlew-demo", targets: ["curlew-demo"]),
        .executable(name: "curlew-probe", targets: ["curlew-probe"]),
        .executable(name: "gallery", targets: ["gallery-server"]),
        .executable(name: "gateway", targets: ["gateway-server"]),
    ],
    dependencies: [
        .package(
            name: "curlew", path: "..", traits: [.defaults, "Images", "Postgres", "Service", "Storage", "TestKit"]),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-async-algorithms", from: "1.1.4"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        .target(
            name: "Aggregator",
            dependencies: [
                .product(name: "Curlew", package: "curlew"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "aggregator-server",
            dependencies: [
                "Aggregator",
                .product(name: "Curlew", package: "curlew"),
                .product(name: "CurlewService", package: "curlew"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "AggregatorTests",
            dependencies: [
                "Aggregator",
                "aggregator-server",
                .product(name: "Curlew", package: "curlew"),
                .product(name: "CurlewService", package: "curlew"),
                .product(name: "CurlewTesting", package: "curlew"),
                .product(name: "CurlewTestingTraits", package: "curlew"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "CollisionTests",
            dependencies: [
                .product(name: "Curlew", package: "curlew"),
                .product(name: "CurlewCredentials", package: "curlew"),
                .product(name: "CurlewImages", package: "curlew"),
                .product(name: "CurlewService", package: "curlew"),
                .product(name: "CurlewWebSockets", package: "curlew"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "X509", package: "swift-certificates"),
            ],
            exclude: ["VaporNames.txt"],
            swiftSettings: settings
        ),
        // The cases of another project's suite for clients, each under its name. The sources use only public names.
        .testTarget(
            name: "ConformanceTests",
            dependencies: [
                .product(name: "Curlew", package: "curlew"),
                .product(name: "CurlewTesting", package: "curlew"),
                .product(name: "CurlewTestingTraits", package: "curlew"),
            ],
            swiftSettings: settings
        ),
        // The target has the settings of a new package, so its sources compile in a user's package too.
        .target(
            name: "Cookbook",
            dependencies: [
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Curlew", package: "curlew"),
                .product(name: "CurlewCredentials", package: "curlew"),
                .product(name: "CurlewService", package: "curlew"),
                .product(name: "CurlewStorage", package: "curlew"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: userSettings
        ),
        .executableTarget(name: "curlew-cookbook", dependencies: ["Cookbook"], swiftSettings: settings),
        .testTarget(
            name: "CookbookTests",
            dependencies: [
                "Cookbook",
                "curlew-cookbook",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Curlew", package: "curlew"),
                .product(name: "CurlewCredentials", package: "curlew"),
                .product(name: "CurlewStorage", package: "curlew"),
                .product(name: "CurlewTesting", package: "curlew"),
                .product(name: "CurlewTestingTraits", package: "curlew"),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: userSettings
        ),
        // `make demo` builds these three alone: the tool's other dependencies take as long as Curlew itself.
        .target(name: "TerminalOutput", swiftSettings: settings),
        .target(
            name: "CurlewDemo",
            dependencies: [
                .product(name: "Curlew", package: "curlew"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                "TerminalOutput",
            ],
            swiftSettings: settings
        ),
        .executableTarget(name: "curlew-demo", dependencies: ["CurlewDemo"], swiftSettings: settings),
        .target(
            name: "CurlewTool",
            dependencies: [
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Curlew", package: "curlew"),
                "CurlewDemo",
                .product(name: "CurlewImages", package: "curlew"),
                .product(name: "CurlewPostgres", package: "curlew"),
                .product(name: "CurlewStorage", package: "curlew"),
                .product(name: "CurlewWebSockets", package: "curlew"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                "TerminalOutput",
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(name: "curlew", dependencies: ["CurlewTool"], swiftSettings: settings),
        .testTarget(
            name: "CurlewToolTests",
            dependencies: [
                "CurlewTool",
                "curlew",
                .product(name: "Curlew", package: "curlew"),
                .product(name: "CurlewImages", package: "curlew"),
                .product(name: "CurlewTesting", package: "curlew"),
                .product(name: "CurlewTestingTraits", package: "curlew"),
                .product(name: "CurlewWebSockets", package: "curlew"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                "TerminalOutput",
            ],
            swiftSettings: settings
        ),
        .target(
            name: "Gallery",
            dependencies: [
                .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
                .product(name: "Curlew", package: "curlew"),
                .product(name: "CurlewImages", package: "curlew"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "gallery-server",
            dependencies: [
                .product(name: "Curlew", package: "curlew"),
                .product(name: "CurlewService", package: "curlew"),
                "Gallery",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "GalleryTests",
            dependencies: [
                .product(name: "Curlew", package: "curlew"),
                .product(name: "CurlewImages", package: "curlew"),
                .product(name: "CurlewService", package: "curlew"),
                .product(name: "CurlewTesting", package: "curlew"),
                .product(name: "CurlewTestingTraits", package: "curlew"),
                "Gallery",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings
        ),
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
            name: "gateway-server",
            dependencies: [
                .product(name: "Curlew", package: "curlew"),
                .product(name: "CurlewService", package: "curlew"),
                "Gateway",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "GatewayTests",
            dependencies: [
                .product(name: "Curlew", package: "curlew"),
                .product(name: "CurlewService", package: "curlew"),
                .product(name: "CurlewTesting", package: "curlew"),
                .product(name: "CurlewTestingTraits", package: "curlew"),
                "Gateway",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "Probe",
            dependencies: [
                .product(name: "Curlew", package: "curlew"),
                .product(name: "CurlewCredentials", package: "curlew"),
                .product(name: "CurlewImages", package: "curlew"),
                .product(name: "CurlewWebSockets", package: "curlew"),
                .product(name: "CurlewXML", package: "curlew"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(name: "curlew-probe", dependencies: ["Probe"], swiftSettings: settings),
        .testTarget(
            name: "ProbeTests",
            dependencies: [
                "Probe",
                "curlew-probe",
                .product(name: "Curlew", package: "curlew"),
                .product(name: "CurlewTesting", package: "curlew"),
                .product(name: "CurlewWebSockets", package: "curlew"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "UploadServerTests",
            dependencies: [
                .product(name: "Curlew", package: "curlew"),
                .product(name: "CurlewTesting", package: "curlew"),
                .product(name: "CurlewTestingTraits", package: "curlew"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOResumableUpload", package: "swift-nio-extras"),
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
