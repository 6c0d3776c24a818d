import Testing

@testable import Curlew

@Suite("The judgement of addresses, without a connection")
struct AddressGateTests {
    private func gate(_ policy: AddressPolicy, _ change: (inout SessionConfiguration) -> Void = { _ in }) throws
        -> AddressGate
    {
        AddressGate(
            try AttemptStage.prepared { configuration in
                configuration.addressPolicy = policy
                change(&configuration)
            } change: { _ in
            }.options)
    }

    private func address(_ text: String) throws -> AddressGate.Address { .ip(try #require(IPAddress(text))) }

    @Test("every address may be connected to without a policy")
    func unrestricted() throws {
        var gate = try gate(.any)
        #expect(gate.mayConnect(to: .unknown) == true)
        #expect(gate.hasTriedAddress)
        #expect(gate.mayUse(peer: nil) == true)
    }

    @Test("a forbidden address is neither connected to nor used, and is named in the error")
    func forbidden() throws {
        var gate = try gate(.publicOnly)
        let loopback = try address("127.0.0.1")
        #expect(gate.mayConnect(to: loopback) == false)
        #expect(!gate.hasTriedAddress)
        #expect(gate.mayUse(peer: "10.0.0.1") == false)
        #expect(gate.mayUse(peer: nil) == false)
        #expect(gate.mayConnect(to: loopback) == false)
        let error = gate.verdict(host: "host", isRefused: false, couldNotConnect: true)
        #expect(error?.code == .addressForbidden)
        #expect(error?.message.contains("127.0.0.1") == true)
    }

    @Test("the policy is not blamed for a failure if another address was tried")
    func othersTried() throws {
        var gate = try gate(.publicOnly)
        let (loopback, wide) = (try address("127.0.0.1"), try address("9.9.9.9"))
        #expect(gate.mayConnect(to: loopback) == false)
        #expect(gate.mayConnect(to: wide) == true)
        #expect(gate.verdict(host: "host", isRefused: false, couldNotConnect: true) == nil)
        #expect(gate.verdict(host: "host", isRefused: true, couldNotConnect: false)?.code == .addressForbidden)
    }
}
