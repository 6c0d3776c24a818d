import Curlew

private struct Item: Decodable, Sendable { let id: Int }
private struct Problem: Decodable, Sendable { let reason: String }

/// Five calls of AFNetworking, each as it is written with Curlew.
public func fiveCalls(to base: String, photo: String, folder: String) async throws -> [String] {
    let manager = try HTTPSession(baseURL: base)
    var found: [String] = []

    // [manager GET:@"items" parameters:@{@"tags": @[@1, @2]} …]
    let items = try await manager.get("items", parameters: ["tags": [1, 2]], as: [Item].self)
    found.append("\(items.count) items")

    // [manager POST:@"items" parameters:@{@"name": @"a b"} …]
    let item = try await manager.post("items", parameters: ["name": "a b"], as: Item.self)
    found.append("item \(item.id)")

    // [manager POST:@"photos" parameters:… constructingBodyWithBlock:^(id<AFMultipartFormData> form) { … }
    //     progress:… …]
    let form = CurlewRequest.Content.multipart(parameters: ["album": "birds"]) { form in
        try form.append(file: photo, name: "photo")
    }
    let saved = try await manager.upload("photos", form, as: Item.self) { print($0.sent.fraction ?? 0) }
    found.append("photo \(saved.id)")

    // [manager downloadTaskWithRequest:… progress:… destination:^(…) { … } completionHandler:…]
    let file = try await manager.download("big.zip", to: .folder(folder)) { print($0.received.fraction ?? 0) }
    found.append("\(file.size) bytes")

    // failure:^(…) { error.userInfo[AFNetworkingOperationFailingURLResponseDataErrorKey] … }
    do {
        try await manager.delete("items/7", as: .nothing)
    } catch let error as CurlewError {
        found.append(error.failure(as: Problem.self)?.reason ?? "no reason")
    }
    return found
}
