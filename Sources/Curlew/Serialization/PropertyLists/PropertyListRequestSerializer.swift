internal import FoundationEssentials

/// Writes parameters as a property list.
///
/// Methods that have their parameters in the query are served by ``base``. Others get a body with the Content-Type
/// `application/x-plist`, unless the request has a Content-Type. Without parameters there is neither.
///
/// Types of Foundation other than dates and data are encoded as Foundation's property list encoder does it, so that its
/// decoder reads them again. Null has no notation in a property list and is ``ErrorCode/encodingFailed``.
public struct PropertyListRequestSerializer: RequestSerializer {
    /// The form in which property lists are written.
    public struct Format: Sendable, Hashable {
        enum Kind { case xml, binary }

        let kind: Kind

        /// XML 1.0 in UTF-8. Dates lose the fractions of their seconds.
        public static let xml = Format(kind: .xml)
        /// Apple's binary form.
        public static let binary = Format(kind: .binary)
    }

    /// The form in which property lists are written. ``Format/xml`` by default.
    public var format: Format
    /// The serializer of queries; it also has the default fields, the methods with a query and the encoder of values.
    public var base: HTTPRequestSerializer

    public init(format: Format = .xml, base: HTTPRequestSerializer = HTTPRequestSerializer()) {
        self.format = format
        self.base = base
    }

    public func serialize(_ call: ParameterizedRequest) throws -> CurlewRequest {
        guard !base.placesInQuery(call) else { return try base.serialize(call) }
        var request = base.requestWithDefaults(call)
        var encoder = base.encoder
        encoder.foundationTypes = .theirOwn
        if let value = try call.parameters.value(encodedBy: encoder) {
            try request.take(.bytes(value.propertyList(format)), contentType: "application/x-plist")
        }
        return request
    }
}

extension ParameterValue {
    /// The tree as a property list. Keys are sorted; a set becomes a list, sorted by what its members are described as.
    /// - Throws: ``CurlewError`` with ``ErrorCode/encodingFailed``: there is a null in it, the top is neither a dictionary
    ///   nor a list, the tree is too deep, or a date or a character cannot be written.
    public func propertyList(_ format: PropertyListRequestSerializer.Format = .xml) throws -> [UInt8] {
        var writer = PropertyListWriter()
        // The binary form is written from a tree that has passed the same checks.
        do throws(ParameterFailure) { try writer.write(self, forXML: format == .xml) } catch { throw error.curlewError }
        return format == .xml ? writer.output : try binaryPropertyList()
    }

    private func binaryPropertyList() throws -> [UInt8] {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        do { return Array(try encoder.encode(self)) } catch {
            throw CurlewError(
                .encodingFailed, "the parameters cannot be written as a property list", underlying: error)
        }
    }
}
