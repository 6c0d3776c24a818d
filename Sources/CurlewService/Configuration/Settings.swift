#if Service
public import Configuration
public import Curlew
public import HTTPTypes

extension HTTPSession {
    /// The parts of a client that a configuration may choose: environment variables, files and whatever else a `ConfigReader` of
    /// swift-configuration reads.
    ///
    /// ``keys`` lists every key, and so does the article <doc:Configuration>. A key that is missing leaves the default as it is; one
    /// that is there and cannot be used is an error that names the key. What was read can be changed before a session is made of it:
    ///
    /// ```swift
    /// let config = ConfigReader(provider: EnvironmentVariablesProvider())
    /// var settings = try await HTTPSession.Settings(reader: config.scoped(to: "http.client"))
    /// settings.chain.cookies = CookieHandling()
    /// let api = try HTTPSession(settings)
    /// ```
    ///
    /// Its description has neither fields nor credentials.
    public struct Settings: Sendable {
        /// The URL that relative references are read against.
        public var baseURL: String?
        /// How the session works.
        public var session: SessionConfiguration
        /// Fields for every request that does not have them itself. A credential that was configured is among them, as
        /// Authorization; it goes to the origin of the base URL alone.
        public var defaultFields: HTTPFields
        /// What the standard chain does.
        public var chain: StandardChain.Options

        public init(
            baseURL: String? = nil, session: SessionConfiguration = SessionConfiguration(),
            defaultFields: HTTPFields = HTTPFields(), chain: StandardChain.Options = StandardChain.Options()
        ) {
            self.baseURL = baseURL
            self.session = session
            self.defaultFields = defaultFields
            self.chain = chain
        }

        /// Reads every key of ``keys``, and checks that a session can be made of the outcome.
        ///
        /// The values are fetched: a provider that asks a service is asked. Files that keys name are read, which blocks as long
        /// as the disk takes.
        /// - Parameters:
        ///   - reader: The reader, scoped to where the client's keys are.
        ///   - defaults: What holds where a key is missing.
        /// - Throws: ``CurlewError``. ``ErrorCode/invalidRequest`` for a value that is not what its key takes, or not beside
        ///   another; its message names the key, what was expected, and the value unless it is secret. For what only shows when
        ///   it is used, such as a certificate, the code of that.
        public init(reader: ConfigReader, defaults: Settings = Settings()) async throws {
            self = try await ConfigurationLookup(reader).settings(from: SettingsTable.all, defaults: defaults)
        }
    }
}

extension HTTPSession.Settings: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// `settings of a client for https://api.example.com`: the origin of the base, and nothing else.
    public var description: String {
        guard let baseURL, let uri = try? CurlewURI(baseURL) else { return "settings of a client" }
        return "settings of a client for \(uri.origin)"
    }
    public var debugDescription: String { description }
    /// Without the fields, so that `dump` does not show them.
    public var customMirror: Mirror { Mirror(self, children: ["session": session]) }
}

extension SessionConfiguration {
    /// Reads the keys of ``Curlew/HTTPSession/Settings`` that are a session's: those of the chain, of credentials and of the base
    /// URL are left alone.
    /// - Parameters:
    ///   - reader: The reader, scoped to where the client's keys are.
    ///   - defaults: What holds where a key is missing.
    /// - Throws: As ``Curlew/HTTPSession/Settings/init(reader:defaults:)``.
    public init(reader: ConfigReader, defaults: SessionConfiguration = SessionConfiguration()) async throws {
        self = try await ConfigurationLookup(reader).settings(
            from: SettingsTable.session, defaults: HTTPSession.Settings(session: defaults)
        ).session
    }
}

extension HTTPSession {
    /// Makes a client with a session of its own.
    /// - Parameters:
    ///   - settings: What it is made of.
    ///   - json: The dialect of JSON.
    ///   - eventLoops: The loops to run on; none means ``CurlewEventLoop/shared``.
    ///   - links: Links around the standard chain, the first outermost.
    /// - Throws: ``CurlewError`` for settings that cannot be used.
    public init<Links: CurlewMiddleware>(
        _ settings: HTTPSession.Settings,
        json: JSONCoding = JSONCoding(),
        eventLoops: [CurlewEventLoop] = [],
        @ChainBuilder _ links: () throws -> Links = { ChainBuilder.Empty<CurlewRequest, CurlewResponse>() }
    ) throws
    where
        Links.Input == CurlewRequest, Links.Output == CurlewResponse, Links.NextInput == CurlewRequest,
        Links.NextOutput == CurlewResponse
    {
        try self.init(
            baseURL: settings.baseURL, configuration: settings.session, defaultFields: settings.defaultFields,
            json: json,
            eventLoops: eventLoops, chain: settings.chain, links)
    }

    /// Makes a client as a configuration has it: ``Settings/init(reader:defaults:)``, and a session of its own.
    ///
    /// ```swift
    /// let config = ConfigReader(provider: EnvironmentVariablesProvider())
    /// let api = try await HTTPSession(reader: config.scoped(to: "http.client"))
    /// ```
    /// - Parameters:
    ///   - reader: The reader, scoped to where the client's keys are.
    ///   - defaults: What holds where a key is missing.
    ///   - json: The dialect of JSON.
    ///   - eventLoops: The loops to run on; none means ``CurlewEventLoop/shared``.
    ///   - links: Links around the standard chain, the first outermost.
    /// - Throws: As ``Settings/init(reader:defaults:)``.
    public init<Links: CurlewMiddleware>(
        reader: ConfigReader,
        defaults: HTTPSession.Settings = HTTPSession.Settings(),
        json: JSONCoding = JSONCoding(),
        eventLoops: [CurlewEventLoop] = [],
        @ChainBuilder _ links: () throws -> Links = { ChainBuilder.Empty<CurlewRequest, CurlewResponse>() }
    ) async throws
    where
        Links.Input == CurlewRequest, Links.Output == CurlewResponse, Links.NextInput == CurlewRequest,
        Links.NextOutput == CurlewResponse
    {
        let settings = try await Settings(reader: reader, defaults: defaults)
        try self.init(settings, json: json, eventLoops: eventLoops, links)
    }
}
#endif
