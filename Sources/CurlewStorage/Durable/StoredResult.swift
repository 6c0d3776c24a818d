#if Storage || Postgres
internal import Curlew
internal import FoundationEssentials
internal import HTTPTypes

/// The stored form of a finished transfer's result.
struct StoredResult: Codable, Sendable {
    private var file: DurableTransfer.File?
    private var status: Int?
    private var fields: [[String]]?
    private var body: Data?

    init(file: DurableTransfer.File) { self.file = file }

    init(status: Int, fields: HTTPFields, body: [UInt8]) {
        self.status = status
        self.fields = fields.filter { !SecretFields.names.contains($0.name) }.map { [$0.name.rawName, $0.value] }
        self.body = Data(body)
    }

    var encoded: [UInt8] { (try? JSONEncoder().encode(self)).map { Array($0) } ?? [] }

    var outcome: DurableTransfer.Outcome? {
        if let file { return .file(file) }
        guard let status else { return nil }
        var fields = HTTPFields()
        for field in self.fields ?? [] where field.count == 2 {
            if let name = HTTPField.Name(field[0]) { fields.append(HTTPField(name: name, value: field[1])) }
        }
        return .response(
            DurableTransfer.Response(status: .init(code: status), fields: fields, body: body.map { Array($0) } ?? []))
    }
}
#endif
