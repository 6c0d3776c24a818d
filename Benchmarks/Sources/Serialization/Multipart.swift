internal import Curlew
internal import FoundationEssentials

private let boundary = "Boundary+0123456789ABCDEF"

/// Makes a form of ten fields and a file of a mebibyte and reads it in chunks, compared with concatenating it in a
/// Data.
func multipart() async throws -> Contest {
    let fields = (0..<10).map { (name: "field-\($0)", value: "The value of field number \($0)") }
    let file = [UInt8](repeating: 0x5A, count: 1 << 20)
    var chunks: [UInt8] = []
    for try await chunk in try await form(fields, file).body.stream() { chunks += chunk }
    let fileData = Data(file)
    guard Data(chunks) == concatenation(fields, fileData) else {
        throw WrongResult(workload: "multipart-1m", client: "curlew")
    }
    return Contest(
        workload: "multipart-1m", repetitions: 200,
        entrants: [
            Contest.Entrant(name: "curlew") {
                var digest = 0
                for try await chunk in try await form(fields, file).body.stream() {
                    digest += chunk.count + Int(chunk[chunk.count / 2])
                }
                return digest
            },
            Contest.Entrant(name: "data") {
                let body = concatenation(fields, fileData)
                return body.count + Int(body[body.count / 2])
            },
        ])
}

private func form(_ fields: [(name: String, value: String)], _ file: [UInt8]) throws -> MultipartFormData {
    var form = try MultipartFormData(boundary: boundary)
    for (name, value) in fields { form.append(value, name: name) }
    try form.append(.bytes(file), name: "file", fileName: "photo.jpg", contentType: "image/jpeg")
    return form
}

private func concatenation(_ fields: [(name: String, value: String)], _ file: Data) -> Data {
    var body = Data()
    for (name, value) in fields {
        body += Data("--\(boundary)\r\nContent-Disposition: form-data; name=\"\(name)\"\r\n\r\n\(value)\r\n".utf8)
    }
    body += Data("--\(boundary)\r\nContent-Disposition: form-data; name=\"file\"; filename=\"photo.jpg\"\r\n".utf8)
    body += Data("Content-Type: image/jpeg\r\n\r\n".utf8)
    body += file
    body += Data("\r\n--\(boundary)--\r\n".utf8)
    return body
}
