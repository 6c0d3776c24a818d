internal import FoundationEssentials

extension ParameterValue {
    /// The tree as a property list. Keys are sorted; a set becomes a list, sorted by what its members are described as.
    /// - Throws: ``CurlewError`` with ``ErrorCode/encodingFailed``: there is a null in it, the top is neither a dictionary
    ///   nor a list, the tree is too deep, or a date or a character cannot be written.
    public func propertyList(_ format: PropertyListRequestSerializer.Format = .xml) throws -> [UInt8] {
        var writer = PropertyListWriter()
        // The binary form is written from a tree that has passed the same checks.
        do throws(ParameterFailure) { try writer.write(self, forXML: format == .xml) } catch { throw error.error }
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
