import Curlew

/// A script that fetches a text, and ends with an exit code that depends on the error.
public func fetch(_ url: String, timeout: Duration = .seconds(10)) async -> Int32 {
    do {
        print(try await HTTPSession().get(.raw(url), as: .text, timeout: timeout))
        return 0
    } catch let error as CurlewError {
        print(error.localizedDescription)
        if error.isTimeout { return 28 }
        if error.isConnectFailure { return 7 }
        if error.isTrustFailure { return 60 }
        return error.code == .unacceptableStatus ? 22 : 1
    } catch {
        print(error)
        return 1
    }
}
