internal import CLibcurl

extension EasyHandle {
    /// Sets what libcurl is to authenticate with by itself, in a scheme of several steps.
    func apply(_ use: EngineCredential?) throws {
        guard let use else {
            try set(CURLOPT_USERNAME, nil as String?)
            try set(CURLOPT_PASSWORD, nil as String?)
            return try set(CURLOPT_HTTPAUTH, EngineAuthentication.basic.rawValue)
        }
        let isNTLM = use.scheme == .ntlm
        guard isNTLM ? Engine.hasNTLM : Engine.hasNegotiate else {
            throw CurlewError(.unsupported, "this libcurl was built without \(isNTLM ? "NTLM" : "GSS-API")")
        }
        var user = ""
        var password = ""
        if case .password(let name, let secret) = use.credential.kind { (user, password) = (name, secret) }
        try Credential.check(user + password)
        try set(CURLOPT_USERNAME, user)
        try set(CURLOPT_PASSWORD, password)
        try set(CURLOPT_HTTPAUTH, (isNTLM ? EngineAuthentication.ntlm : .negotiate).rawValue)
        // The connection is the user's from then on; libcurl keeps it until the steps are done.
        try forbidReuse(true)
    }
}
