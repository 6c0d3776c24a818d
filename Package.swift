// swift-tools-version: 6.2

import PackageDescription

var settings: [SwiftSetting] = [
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

// The Makefile sets the variable for the project's own builds. A warning of a newer compiler must not fail the builds
// of packages that depend on Curlew.
if Context.environment["CURLEW_WARNINGS_AS_ERRORS"] == "1" {
    settings.append(.treatAllWarnings(as: .error))
}

let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")

let traits: [Trait] = [
    .trait(name: "Brotli", description: "Decodes bodies that are coded with Brotli; takes libbrotlidec."),
    .trait(name: "Zstandard", description: "Decodes bodies that are coded with Zstandard; takes libzstd."),
    .trait(
        name: "PublicSuffixList",
        description: "Cookies for whole domains, and no wildcard certificates for public suffixes; takes libpsl."),
    .trait(
        name: "Images",
        description: """
            Fills the product CurlewImages: pictures; takes libpng, libjpeg-turbo, libwebp, giflib, libtiff and libavif.
            """),
    .trait(
        name: "Postgres",
        description: "Keeps queues of durable transfers in PostgreSQL by the product CurlewPostgres; takes libpq."),
    .trait(name: "InternationalNames", description: "Host names in other letters than ASCII's; takes libidn2."),
    .trait(
        name: "Service",
        description: """
            Fills the product CurlewService: metrics, traces, lifecycle, configuration and forwarding; takes \
            swift-metrics, swift-distributed-tracing, swift-service-lifecycle, swift-configuration and SwiftNIO.
            """),
    .trait(
        name: "Storage",
        description: """
            Keeps a cache and queues of durable transfers on the disk by the product CurlewStorage; takes GRDB and \
            SQLite.
            """),
    .trait(
        name: "TestKit", description: "Fills the products CurlewTesting and CurlewTestingTraits; takes SwiftNIO."),
    .trait(name: "XML", description: "Reads XML into Decodable types in the product CurlewXML; takes XMLCoder."),
]

// `make api-check` sets the variable: `swift package diagnose-api-breaking-changes` builds an earlier version with its
// default traits, and without this variable would compare only the declarations of these traits.
let defaultTraits: Set<String> =
    if Context.environment["CURLEW_ALL_TRAITS"] == "1" {
        Set(traits.map(\.name))
    } else {
        ["Brotli", "Zstandard", "PublicSuffixList", "InternationalNames"]
    }

let package = Package(
    name: "curlew",
    // Curlew needs Linux. Without this version a build on macOS would end with an error about the versions of
    // dependencies, instead of the sentence in Sources/CurlewPlatform/Platform.swift.
    platforms: [.macOS(.v15)],
    products: [
        // The diagnosis of breaking changes compares the modules that a product names.
        .library(name: "Curlew", targets: ["Curlew", "CurlewCache", "CurlewCore", "CurlewLoad", "CurlewTransfers"]),
        .library(name: "CurlewCore", targets: ["CurlewCore"]),
        .library(name: "CurlewCredentials", targets: ["CurlewCredentials"]),
        .library(name: "CurlewImages", targets: ["CurlewImages"]),
        .library(name: "CurlewJSON", targets: ["CurlewJSON"]),
        .library(name: "CurlewPostgres", targets: ["CurlewPostgres"]),
        .library(name: "CurlewService", targets: ["CurlewService"]),
        .library(name: "CurlewStorage", targets: ["CurlewStorage"]),
        .library(name: "CurlewXML", targets: ["CurlewXML"]),
        .library(name: "CurlewTesting", targets: ["CurlewTesting"]),
        .library(name: "CurlewTestingTraits", targets: ["CurlewTestingTraits"]),
        .library(name: "CurlewWebSockets", targets: ["CurlewWebSockets"]),
    ],
    traits: Set(traits + [.default(enabledTraits: defaultTraits)]),
    dependencies: [
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/apple/swift-http-structured-headers", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/CoreOffice/XMLCoder", from: "0.18.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
    ],
    targets: [
        .systemLibrary(
            name: "CLibcurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev", "pkg-config"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev", "pkg-config"])]),
        .systemLibrary(name: "CLinux"),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev", "pkg-config"])]),
        .systemLibrary(name: "CBrotli", pkgConfig: "libbrotlidec", providers: [.apt(["libbrotli-dev", "pkg-config"])]),
        // The encoder is for the test kit and the tests alone: a program that decodes does not load it.
        .systemLibrary(
            name: "CBrotliEncoder", pkgConfig: "libbrotlienc", providers: [.apt(["libbrotli-dev", "pkg-config"])]),
        .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev", "pkg-config"])]),
        .systemLibrary(name: "CIDN2", pkgConfig: "libidn2", providers: [.apt(["libidn2-dev", "pkg-config"])]),
        .systemLibrary(name: "CPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev", "pkg-config"])]),
        .systemLibrary(name: "CPSL", pkgConfig: "libpsl", providers: [.apt(["libpsl-dev", "pkg-config"])]),
        .systemLibrary(name: "CAVIF", pkgConfig: "libavif", providers: [.apt(["libavif-dev", "pkg-config"])]),
        .systemLibrary(name: "CGIF", providers: [.apt(["libgif-dev"])]),
        .systemLibrary(name: "CPNG", pkgConfig: "libpng", providers: [.apt(["libpng-dev", "pkg-config"])]),
        .systemLibrary(name: "CTIFF", pkgConfig: "libtiff-4", providers: [.apt(["libtiff-dev", "pkg-config"])]),
        .systemLibrary(name: "CJPEG", pkgConfig: "libjpeg", providers: [.apt(["libjpeg62-turbo-dev", "pkg-config"])]),
        .systemLibrary(name: "CWebP", pkgConfig: "libwebpdemux", providers: [.apt(["libwebp-dev", "pkg-config"])]),
        // The C library of the system, which no other module imports.
        .target(name: "CurlewPlatform", swiftSettings: settings),
        // Bytes, dates, text and locks for all modules. This module has no public names.
        .target(name: "CurlewSupport", dependencies: ["CurlewPlatform"], swiftSettings: settings),
        .target(name: "CurlewJSON", dependencies: ["CurlewPlatform", "CurlewSupport"], swiftSettings: settings),
        .target(
            name: "CurlewCore",
            dependencies: [
                .target(name: "CBrotli", condition: .when(traits: ["Brotli"])),
                .target(name: "CIDN2", condition: .when(traits: ["InternationalNames"])),
                "CLibcurl",
                "CLinux",
                "COpenSSL",
                .target(name: "CPSL", condition: .when(traits: ["PublicSuffixList"])),
                "CurlewJSON",
                "CurlewPlatform",
                "CurlewSupport",
                "CZlib",
                .target(name: "CZstd", condition: .when(traits: ["Zstandard"])),
                httpTypes,
                logging,
                .product(name: "RawStructuredFieldValues", package: "swift-http-structured-headers"),
            ],
            swiftSettings: settings
        ),
        .target(name: "CurlewCache", dependencies: ["CurlewCore"], swiftSettings: settings),
        .target(name: "CurlewLoad", dependencies: ["CurlewCore", "CurlewPlatform"], swiftSettings: settings),
        .target(name: "CurlewTransfers", dependencies: ["CurlewCore", "CurlewPlatform"], swiftSettings: settings),
        // The module that programs import: it exports the modules above.
        .target(
            name: "Curlew",
            dependencies: ["CurlewCache", "CurlewCore", "CurlewLoad", "CurlewTransfers"],
            swiftSettings: settings
        ),
        .target(
            name: "CurlewCredentials",
            dependencies: ["COpenSSL", "Curlew", "CurlewPlatform", httpTypes],
            swiftSettings: settings
        ),
        .target(
            name: "CurlewImages",
            dependencies: [
                .target(name: "CAVIF", condition: .when(traits: ["Images"])),
                .target(name: "CGIF", condition: .when(traits: ["Images"])),
                "CLinux",
                .target(name: "CPNG", condition: .when(traits: ["Images"])),
                .target(name: "CTIFF", condition: .when(traits: ["Images"])),
                .target(name: "CJPEG", condition: .when(traits: ["Images"])),
                .target(name: "CWebP", condition: .when(traits: ["Images"])),
                "Curlew",
                "CurlewPlatform",
                httpTypes,
            ],
            swiftSettings: settings
        ),
        .target(
            name: "CurlewPostgres",
            dependencies: [
                .target(name: "CPQ", condition: .when(traits: ["Postgres"])), "Curlew", "CurlewPlatform",
                "CurlewStorage",
            ],
            swiftSettings: settings
        ),
        .target(
            name: "CurlewService",
            dependencies: [
                "Curlew",
                .product(name: "Configuration", package: "swift-configuration", condition: .when(traits: ["Service"])),
                httpTypes,
                logging,
                .product(name: "Metrics", package: "swift-metrics", condition: .when(traits: ["Service"])),
                .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["Service"])),
                .product(
                    name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: .when(traits: ["Service"])),
                .product(name: "Tracing", package: "swift-distributed-tracing", condition: .when(traits: ["Service"])),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "CurlewStorage",
            dependencies: [
                "CLinux",
                "Curlew",
                "CurlewPlatform",
                "CZlib",
                .product(name: "GRDB", package: "GRDB.swift", condition: .when(traits: ["Storage"])),
                .product(name: "GRDBSQLite", package: "GRDB.swift", condition: .when(traits: ["Storage"])),
                httpTypes,
            ],
            swiftSettings: settings
        ),
        .target(
            name: "CurlewWebSockets",
            dependencies: ["CLinux", "COpenSSL", "CZlib", "Curlew", httpTypes],
            swiftSettings: settings
        ),
        .target(
            name: "CurlewXML",
            dependencies: [
                "Curlew",
                httpTypes,
                .product(name: "XMLCoder", package: "XMLCoder", condition: .when(traits: ["XML"])),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "CurlewTesting",
            dependencies: [
                .target(name: "CBrotliEncoder", condition: .when(traits: ["Brotli"])),
                "COpenSSL",
                "Curlew",
                "CurlewPlatform",
                "CurlewWebSockets",
                "CZlib",
                .target(name: "CZstd", condition: .when(traits: ["Zstandard"])),
                httpTypes,
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio", condition: .when(traits: ["TestKit"])),
                .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["TestKit"])),
                .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["TestKit"])),
                .product(name: "NIOTLS", package: "swift-nio", condition: .when(traits: ["TestKit"])),
                .product(name: "NIOHTTP1", package: "swift-nio", condition: .when(traits: ["TestKit"])),
                .product(name: "NIOHTTP2", package: "swift-nio-http2", condition: .when(traits: ["TestKit"])),
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["TestKit"])),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "CurlewTestingTraits", dependencies: ["Curlew", "CurlewPlatform", "CurlewTesting"],
            swiftSettings: settings),
        .target(name: "CStalledResolver", path: "Tests/CStalledResolver", linkerSettings: [.linkedLibrary("dl")]),
        .target(name: "CSystemFaults", path: "Tests/CSystemFaults", linkerSettings: [.linkedLibrary("dl")]),
        // A PostgreSQL server for tests, and for campaigns that kill it. The package in Tools/ has symbolic links to
        // this folder and to SeededNumbers.
        .target(
            name: "PostgresServer", dependencies: ["Curlew"], path: "Tests/PostgresServer", swiftSettings: settings),
        .target(name: "SeededNumbers", path: "Tests/SeededNumbers", swiftSettings: settings),
        // Stubs, files and errors for both kinds of tests.
        .target(
            name: "TestHelpers", dependencies: ["Curlew", httpTypes], path: "Tests/TestHelpers",
            swiftSettings: settings),
        .target(name: "ThreadWork", path: "Tests/ThreadWork", swiftSettings: settings),
        // Tests that need no server. They run in parallel: `make test-unit`.
        .testTarget(
            name: "CurlewUnitTests",
            dependencies: [
                "Curlew", "CurlewJSON", "CurlewSupport", httpTypes, logging, "SeededNumbers", "TestHelpers",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "CurlewTests",
            dependencies: [
                .target(name: "CBrotliEncoder", condition: .when(traits: ["Brotli"])),
                "COpenSSL",
                "CStalledResolver",
                "CSystemFaults",
                "Curlew",
                "CurlewJSON",
                "CurlewSupport",
                "CurlewTesting",
                "CurlewTestingTraits",
                "CZlib",
                .target(name: "CZstd", condition: .when(traits: ["Zstandard"])),
                httpTypes,
                logging,
                "SeededNumbers",
                "TestHelpers",
                "ThreadWork",
            ],
            exclude: [
                "HTTP3/http3_server.py", "HTTP3/http3_faults.py", "HTTP3/http3_relay.py", "Support/Snippets/Recordings",
            ],
            swiftSettings: settings
        ),
        // The tests of CurlewJSON need neither a server nor Curlew.
        .testTarget(
            name: "CurlewJSONTests", dependencies: ["CurlewJSON", "SeededNumbers", "ThreadWork"],
            swiftSettings: settings),
        .testTarget(
            name: "CurlewCredentialsTests",
            dependencies: [
                "Curlew",
                "CurlewCredentials",
                "CurlewTesting",
                "CurlewTestingTraits",
                httpTypes,
                logging,
                "SeededNumbers",
                "TestHelpers",
            ],
            exclude: ["Links/moto_server.py"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "CurlewCredentialsUnitTests",
            dependencies: ["Curlew", "CurlewCredentials", httpTypes, logging, "SeededNumbers", "TestHelpers"],
            exclude: ["Oracle"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "CurlewImagesTests",
            dependencies: [
                "Curlew",
                "CurlewImages",
                "CurlewTesting",
                "CurlewTestingTraits",
                httpTypes,
                "SeededNumbers",
            ],
            exclude: ["Fixtures"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "CurlewServiceTests",
            dependencies: [
                "Curlew",
                "CurlewService",
                "CurlewTesting",
                "CurlewTestingTraits",
                .product(name: "Configuration", package: "swift-configuration", condition: .when(traits: ["Service"])),
                httpTypes,
                .product(
                    name: "InMemoryTracing", package: "swift-distributed-tracing", condition: .when(traits: ["Service"])
                ),
                logging,
                .product(name: "Metrics", package: "swift-metrics", condition: .when(traits: ["Service"])),
                .product(name: "MetricsTestKit", package: "swift-metrics", condition: .when(traits: ["Service"])),
                .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["Service"])),
                .product(
                    name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: .when(traits: ["Service"])),
                .product(
                    name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle",
                    condition: .when(traits: ["Service"])),
                .product(name: "Tracing", package: "swift-distributed-tracing", condition: .when(traits: ["Service"])),
                .product(
                    name: "UnixSignals", package: "swift-service-lifecycle", condition: .when(traits: ["Service"])),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "CurlewStorageTests",
            dependencies: [
                "CSystemFaults",
                "Curlew",
                "CurlewPostgres",
                "CurlewStorage",
                "CurlewTesting",
                "CurlewTestingTraits",
                .product(name: "GRDB", package: "GRDB.swift", condition: .when(traits: ["Storage"])),
                httpTypes,
                "PostgresServer",
                "SeededNumbers",
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "CurlewWebSocketsTests",
            dependencies: [
                "COpenSSL",
                "CZlib",
                "Curlew",
                "CurlewTesting",
                "CurlewTestingTraits",
                "CurlewWebSockets",
                httpTypes,
                "SeededNumbers",
                "TestHelpers",
            ],
            exclude: ["Interop/live_servers.py"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "CurlewWebSocketsUnitTests",
            dependencies: ["Curlew", "CurlewWebSockets", "CZlib", httpTypes, "SeededNumbers", "TestHelpers"],
            exclude: ["Interop/wsproto_peer.py", "Interop/wsproto-recordings.jsonl"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "CurlewXMLTests",
            dependencies: ["Curlew", "CurlewXML", httpTypes],
            swiftSettings: settings
        ),
        .testTarget(
            name: "CurlewTestingTests",
            dependencies: [
                .target(name: "CBrotli", condition: .when(traits: ["Brotli"])),
                "Curlew",
                "CurlewTesting",
                "CurlewTestingTraits",
                "CZlib",
                .target(name: "CZstd", condition: .when(traits: ["Zstandard"])),
                httpTypes,
                .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["TestKit"])),
                .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["TestKit"])),
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["TestKit"])),
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)

// `make test-unit` sets the variable: only the tests that need no server are built.
if Context.environment["CURLEW_TESTS"] == "unit" {
    let others: Set = ["CurlewJSONTests", "CurlewXMLTests"]
    package.targets.removeAll { $0.isTest && !$0.name.hasSuffix("UnitTests") && !others.contains($0.name) }
}
