// swift-tools-version: 6.2

import PackageDescription

var settings: [SwiftSetting] = [
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

// The Makefile sets it for our own builds; whoever depends on Curlew does not trip over a warning of a newer compiler.
if Context.environment["CURLEW_WARNINGS_AS_ERRORS"] == "1" {
    settings.append(.treatAllWarnings(as: .error))
}

let package = Package(
    name: "curlew",
    products: [
        .library(name: "Curlew", targets: ["Curlew"]),
        .library(name: "CurlewXML", targets: ["CurlewXML"]),
        .library(name: "CurlewTesting", targets: ["CurlewTesting"]),
        .library(name: "CurlewTestingTraits", targets: ["CurlewTestingTraits"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/CoreOffice/XMLCoder", from: "0.18.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
    ],
    targets: [
        .systemLibrary(
            name: "CLibcurl",
            pkgConfig: "libcurl",
            providers: [.apt(["libcurl4-openssl-dev", "pkg-config"])]
        ),
        .systemLibrary(
            name: "COpenSSL",
            pkgConfig: "openssl",
            providers: [.apt(["libssl-dev", "pkg-config"])]
        ),
        .systemLibrary(name: "CLinux"),
        .systemLibrary(
            name: "CCoding",
            pkgConfig: "zlib",
            providers: [.apt(["zlib1g-dev", "libbrotli-dev", "libzstd-dev", "pkg-config"])]
        ),
        .systemLibrary(
            name: "CIDN2",
            pkgConfig: "libidn2",
            providers: [.apt(["libidn2-dev", "pkg-config"])]
        ),
        .systemLibrary(
            name: "CPSL",
            pkgConfig: "libpsl",
            providers: [.apt(["libpsl-dev", "pkg-config"])]
        ),
        .target(
            name: "Curlew",
            dependencies: [
                "CCoding",
                "CIDN2",
                "CLibcurl",
                "CLinux",
                "COpenSSL",
                "CPSL",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "CurlewXML",
            dependencies: [
                "Curlew",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "XMLCoder", package: "XMLCoder"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "CurlewTesting",
            dependencies: [
                "CCoding",
                "COpenSSL",
                "Curlew",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "CurlewTestingTraits",
            dependencies: ["Curlew", "CurlewTesting"],
            swiftSettings: settings
        ),
        .target(
            name: "CStalledResolver",
            path: "Tests/CStalledResolver",
            linkerSettings: [.linkedLibrary("dl")]
        ),
        .target(
            name: "CSystemFaults",
            path: "Tests/CSystemFaults",
            linkerSettings: [.linkedLibrary("dl")]
        ),
        .testTarget(
            name: "CurlewTests",
            dependencies: [
                "CCoding",
                "COpenSSL",
                "CStalledResolver",
                "CSystemFaults",
                "Curlew",
                "CurlewTesting",
                "CurlewTestingTraits",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings
        ),
        // Not a test target: it has to be a process that can be killed. `make test-crash` runs it.
        .executableTarget(
            name: "crash-campaign",
            dependencies: [
                "Curlew",
                "CurlewTesting",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            path: "Tests/CrashCampaign",
            swiftSettings: settings
        ),
        // Another: it looks at what its process holds, for as long as it is told. `make soak` runs it.
        .executableTarget(
            name: "soak",
            dependencies: [
                "CLibcurl",
                "Curlew",
                "CurlewTesting",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            path: "Tests/Soak",
            swiftSettings: settings
        ),
        .testTarget(
            name: "CurlewXMLTests",
            dependencies: [
                "Curlew",
                "CurlewXML",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "CurlewTestingTests",
            dependencies: [
                "CCoding",
                "Curlew",
                "CurlewTesting",
                "CurlewTestingTraits",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
