#if Service
internal import Curlew

extension SettingsDraft {
    /// The keys of an address policy. With a base they make a new policy. Without one they change the default, so that
    /// a key that forbids something never permits something else.
    struct Addresses: Sendable {
        enum Base: Sendable { case any, publicOnly, only }
        var base: Base?
        var allowed: [IPNetwork] = []
        var denied: [IPNetwork] = []
        var ports: [Int] = []
        var requiresHTTPS = false
        var allowsUnixSockets = false

        func policy(insteadOf policy: AddressPolicy) throws -> AddressPolicy {
            guard base != .only || !allowed.isEmpty else {
                throw SettingsProblem(
                    "address-policy.base", "address-policy.allow", message: "only, and nothing is allowed")
            }
            var made =
                switch base {
                case nil: policy.allowing(allowed)
                case .any: AddressPolicy.any.allowing(allowed)
                case .publicOnly: AddressPolicy.publicOnly.allowing(allowed)
                case .only: AddressPolicy.only(allowed)
                }
            made = made.denying(denied)
            if !ports.isEmpty { made = made.allowing(ports: Set(ports)) }
            if requiresHTTPS { made = made.httpsOnly() }
            if allowsUnixSockets { made = made.allowingUnixSockets() }
            return made
        }
    }

    /// The keys of a proxy. If `proxy.url` has a value, these keys replace the default configuration.
    struct ProxyChoice: Sendable {
        enum Kind: Sendable, Equatable {
            case none
            case environment
            case proxy(Proxy)
        }

        var kind: Kind?
        var user: String?
        var password: String?
        var authentication: Proxy.Authentication?
        var exceptions: [String] = []
        var anchorsFile: String?

        private var hasDetails: Bool {
            user != nil || password != nil || authentication != nil || !exceptions.isEmpty || anchorsFile != nil
        }

        func configuration(insteadOf configuration: Proxy.Configuration) throws -> Proxy.Configuration {
            guard case .proxy(let proxy) = kind else {
                guard !hasDetails else {
                    throw SettingsProblem("proxy.url", message: "other keys of proxy need the URL of one")
                }
                return kind == nil ? configuration : kind == .environment ? .environment : .none
            }
            return .proxy(try complete(proxy), except: exceptions.joined(separator: ","))
        }

        private func complete(_ proxy: Proxy) throws -> Proxy {
            var proxy = proxy
            if user != nil || password != nil || authentication != nil {
                guard proxy.user == nil else {
                    throw SettingsProblem("proxy.url", "proxy.user", message: "the proxy's credentials are in both")
                }
                // A Kerberos ticket needs neither user nor password.
                guard authentication == .negotiate || user != nil && password != nil else {
                    throw SettingsProblem(
                        "proxy.user", "proxy.password", message: "one of them is there without the other")
                }
                do {
                    proxy = try proxy.authenticated(
                        user: user ?? "", password: password ?? "", by: authentication ?? .basic)
                } catch let error as CurlewError {
                    throw SettingsProblem("proxy.user", cause: error)
                }
            }
            if let anchorsFile {
                proxy.anchorsPEM = try SettingsFile.text(of: anchorsFile, for: "proxy.anchors-file")
                guard (try? CurlewCertificate.all(inPEM: proxy.anchorsPEM ?? ""))?.isEmpty == false else {
                    throw SettingsProblem(
                        "proxy.anchors-file", code: .invalidTLSSetting,
                        message: "\(anchorsFile) has no certificate in PEM")
                }
            }
            return proxy
        }
    }
}

extension Form {
    static let proxy = ValueForm<SettingsDraft.ProxyChoice.Kind>(
        "`none`, `environment`, URL", "none, environment, or the URL of a proxy such as http://proxy.example.com:3128",
        show: { _ in nil },
        read: { text in
            switch text {
            case "none": SettingsDraft.ProxyChoice.Kind.none
            case "environment": .environment
            // The scheme is required: a misspelled word without it would be the name of a host.
            default: text.contains("://") ? (try? Proxy(text)).map { .proxy($0) } : nil
            }
        })
}

extension Form {
    static let exception = ValueForm<String>(
        "host", "a host as in no_proxy, such as .example.com, 10.0.0.0/8 or [::1]:80"
    ) { Proxy.Configuration.canMatch($0) ? $0 : nil }
}
#endif
