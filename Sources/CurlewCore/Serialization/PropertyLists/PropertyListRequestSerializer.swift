internal import FoundationEssentials

/// Writes parameters as a property list.
///
/// For methods with parameters in the query, ``base`` writes them. Other methods have a body with the Content-Type
/// `application/x-plist`, unless the request has a Content-Type. Without parameters there is neither body nor
/// Content-Type.
///
/// Foundation types other than dates and data are encoded as by Foundation's property list encoder, so that its decoder
/// can read them. Null has no notation in a property list and is ``ErrorCode/encodingFailed``.
public struct PropertyListRequestSerializer: RequestSerializer {
    /// The form of property lists.
    public struct Format: Sendable, Hashable {
        enum Kind { case xml, binary }

        let kind: Kind

        /// XML 1.0 in UTF-8. Dates are written without fractions of seconds.
        public static let xml = Format(kind: .xml)
        /// Apple's binary form.
        public static let binary = Format(kind: .binary)
    }

    /// The form of the property list. ``Format/xml`` by default.
    public var format: Format
    /// The serializer of queries. Its default fields, methods with a query and encoder of values are used, too.
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
    /// The tree as a property list. Keys are sorted; a set becomes a list, sorted by the descriptions of its members.
    /// - Throws: ``CurlewError`` with ``ErrorCode/encodingFailed`` if the tree contains a null, is neither a dictionary
    ///   nor a list, is too deep, or contains a date or a character that cannot be written.
    public func propertyList(_ format: PropertyListRequestSerializer.Format = .xml) throws -> [UInt8] {
        var writer = PropertyListWriter()
        // The XML writer checks the values for both formats.
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
