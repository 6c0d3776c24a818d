#if Service
public import Configuration
public import Curlew
public import HTTPTypes

extension HTTPSession {
    /// The parts of a client that a configuration can set, from environment variables, files or any other source of a
    /// `ConfigReader` of swift-configuration.
    ///
    /// ``keys`` lists every key, as does the article <doc:Configuration>. A missing key leaves the default unchanged. A
    /// key with an invalid value is an error that names the key. The settings can be changed in code before they make a
    /// session:
    ///
    /// ```swift
    /// let config = ConfigReader(provider: EnvironmentVariablesProvider())
    /// var settings = try await HTTPSession.Settings(reader: config.scoped(to: "http.client"))
    /// settings.chain.cookies = CookieHandling()
    /// let api = try HTTPSession(settings)
    /// ```
    ///
    /// The description of settings contains neither fields nor credentials.
    public struct Settings: Sendable {
        /// The base URL of relative references.
        public var baseURL: String?
        /// The configuration of the session.
        public var session: SessionConfiguration
        /// The fields of every request that does not have them itself. A configured credential is one of them, as
        /// Authorization; it is sent only to the origin of the base URL.
        public var defaultFields: HTTPFields
        /// The options of the standard chain.
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

        /// Reads every key of ``keys``, and checks that the result can make a session.
        ///
        /// The values are fetched, so that a provider can query a service. Files that keys name are read, which blocks
        /// the thread while the disk is slow.
        /// - Parameters:
        ///   - reader: The reader, scoped to the client's keys.
        ///   - defaults: The settings for missing keys.
        /// - Throws: ``CurlewError``. The code is ``ErrorCode/invalidRequest`` for a value that is invalid for its key,
        ///   or in combination with another one. The message names the key, the expected form, and the value unless it
        ///   is secret. An error that is only found when the value is used, such as in a certificate, has the code of
        ///   that use.
        public init(reader: ConfigReader, defaults: Settings = Settings()) async throws {
            self = try await ConfigurationLookup(reader).settings(from: SettingsTable.all, defaults: defaults)
        }
    }
}

extension HTTPSession.Settings: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The origin of the base URL and nothing else: `settings of a client for https://api.example.com`.
    public var description: String {
        guard let baseURL, let uri = try? CurlewURI(baseURL) else { return "settings of a client" }
        return "settings of a client for \(uri.origin)"
    }
    public var debugDescription: String { description }
    /// A mirror without the fields, so that `dump` does not show them.
    public var customMirror: Mirror { Mirror(self, children: ["session": session]) }
}

extension SessionConfiguration {
    /// Reads those keys of ``Curlew/HTTPSession/Settings`` that configure a session; the keys of the chain, of
    /// credentials and of the base URL are ignored.
    /// - Parameters:
    ///   - reader: The reader, scoped to the client's keys.
    ///   - defaults: The configuration for missing keys.
    /// - Throws: The errors of ``Curlew/HTTPSession/Settings/init(reader:defaults:)``.
    public init(reader: ConfigReader, defaults: SessionConfiguration = SessionConfiguration()) async throws {
        self = try await ConfigurationLookup(reader).settings(
            from: SettingsTable.session, defaults: HTTPSession.Settings(session: defaults)
        ).session
    }
}

extension HTTPSession {
    /// Makes a client with its own session.
    /// - Parameters:
    ///   - settings: The settings of the client.
    ///   - json: The dialect of JSON.
    ///   - eventLoops: The loops to run on; an empty array means ``CurlewEventLoop/shared``.
    ///   - links: The links (middleware) around the standard chain, the first outermost.
    /// - Throws: ``CurlewError`` for invalid settings.
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

    /// Makes a client with its own session from a configuration, as ``Settings/init(reader:defaults:)`` reads it.
    ///
    /// ```swift
    /// let config = ConfigReader(provider: EnvironmentVariablesProvider())
    /// let api = try await HTTPSession(reader: config.scoped(to: "http.client"))
    /// ```
    /// - Parameters:
    ///   - reader: The reader, scoped to the client's keys.
    ///   - defaults: The settings for missing keys.
    ///   - json: The dialect of JSON.
    ///   - eventLoops: The loops to run on; an empty array means ``CurlewEventLoop/shared``.
    ///   - links: The links (middleware) around the standard chain, the first outermost.
    /// - Throws: The errors of ``Settings/init(reader:defaults:)``.
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
