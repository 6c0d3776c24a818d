internal import Curlew
internal import Foundation
internal import FoundationXML

/// A reader that passes the events of Foundation's parser to a closure.
final class XMLEventReader: NSObject {
    private let options: XMLReadingOptions
    private let handle: (XMLEvent) -> Void
    private var text = ""
    private var depth = 0
    private var fault: CurlewError?
    /// True if the parser reported an error other than about the name of a namespace.
    private var isMalformed = false
    /// True if the parser reported anything.
    private var hasReports = false

    private init(options: XMLReadingOptions, handle: @escaping (XMLEvent) -> Void) {
        self.options = options
        self.handle = handle
    }

    /// Reads a document.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/decodingFailed``, after the events before the error.
    static func read(
        _ utf8: [UInt8], options: XMLReadingOptions, handle: @escaping (XMLEvent) -> Void
    ) throws {
        try XMLTagScan.check(utf8, maximumDepth: options.maximumDepth, reader: .xmlParser)
        let parser = XMLParser(data: Data(utf8))
        parser.shouldProcessNamespaces = true
        parser.externalEntityResolvingPolicy = .never
        let reader = XMLEventReader(options: options, handle: handle)
        parser.delegate = reader
        let isParsed = parser.parse()
        if let fault = reader.fault { throw fault }
        // Foundation in Swift 6.3 returns true for a truncated document, but it reports the error. Without a report,
        // its result counts.
        let isWellFormed = reader.hasReports ? !reader.isMalformed : isParsed && parser.parserError == nil
        guard isWellFormed, reader.depth == 0, !utf8.isEmpty else {
            throw CurlewError(
                .decodingFailed, "the XML is malformed at line \(parser.lineNumber), column \(parser.columnNumber)",
                underlying: parser.parserError)
        }
    }

    /// The codes of libxml2 for the name of a namespace that is not a URI, or is a relative one. The document is
    /// well-formed, and libxml2 uses the name as it is written.
    private static let namespaceNames = [99, 100]

    private func flush() {
        guard !text.isEmpty else { return }
        handle(.text(text))
        text = ""
    }

    private func fail(_ message: String, _ parser: XMLParser) {
        guard fault == nil else { return }
        fault = CurlewError(.decodingFailed, message)
        parser.abortParsing()
    }
}

extension XMLEventReader: XMLParserDelegate {
    func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String]
    ) {
        guard fault == nil else { return }
        flush()
        depth += 1
        guard depth <= options.maximumDepth else {
            return fail("elements are nested more than \(options.maximumDepth) deep", parser)
        }
        handle(.start(Self.name(name, namespaceURI, qualifiedName), attributes: attributes))
    }

    func parser(_ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?) {
        guard fault == nil else { return }
        flush()
        depth -= 1
        handle(.end(Self.name(name, namespaceURI, qualifiedName)))
    }

    func parser(_ parser: XMLParser, foundCharacters string: String) {
        guard fault == nil else { return }
        text += string
    }

    func parser(_ parser: XMLParser, foundCDATA data: Data) {
        self.parser(parser, foundCharacters: String(decoding: data, as: UTF8.self))
    }

    func parser(_ parser: XMLParser, foundComment comment: String) {
        guard fault == nil else { return }
        flush()
        handle(.comment(comment))
    }

    func parser(_ parser: XMLParser, foundProcessingInstructionWithTarget target: String, data: String?) {
        guard fault == nil else { return }
        flush()
        handle(.instruction(target: target, data: data))
    }

    func parser(_ parser: XMLParser, parseErrorOccurred error: any Error) {
        hasReports = true
        if !Self.namespaceNames.contains((error as NSError).code) { isMalformed = true }
    }

    func parser(_ parser: XMLParser, resolveExternalEntityName name: String, systemID: String?) -> Data? {
        fail("the document names an entity that is not declared in it", parser)
        return nil
    }

    private static func name(_ local: String, _ namespace: String?, _ qualified: String?) -> XMLName {
        XMLName(local, namespace: namespace.flatMap { $0.isEmpty ? nil : $0 }, qualified: qualified)
    }
}
