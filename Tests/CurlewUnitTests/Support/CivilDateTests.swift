import Testing

@testable import CurlewCore

@Suite("Calendar days")
struct CivilDateTests {
    @Test("a day and its number convert into each other over nine thousand years")
    func roundTrip() throws {
        var previous = CivilDate(daysSince1970: -719_163)
        for number in -719_162...2_932_896 {
            let date = CivilDate(daysSince1970: number)
            guard date.daysSince1970 == number, CivilDate(year: date.year, month: date.month, day: date.day) == date
            else {
                Issue.record("day \(number) became \(date)")
                return
            }
            previous = date
        }
        #expect(previous == CivilDate(year: 9999, month: 12, day: 31))
    }

    @Test("known days have the right numbers")
    func known() {
        #expect(CivilDate(year: 1970, month: 1, day: 1)?.daysSince1970 == 0)
        #expect(CivilDate(year: 2000, month: 2, day: 29)?.daysSince1970 == 11_016)
        #expect(CivilDate(year: 1969, month: 12, day: 31)?.daysSince1970 == -1)
        #expect(CivilDate(year: 1, month: 1, day: 1)?.daysSince1970 == -719_162)
    }

    @Test(
        "a nonexistent day is refused",
        arguments: [(1900, 2, 29), (2001, 2, 29), (2000, 4, 31), (2000, 13, 1), (2000, 0, 1), (2000, 1, 0), (0, 1, 1)])
    func refused(_ year: Int, _ month: Int, _ day: Int) {
        #expect(CivilDate(year: year, month: month, day: day) == nil)
    }
}
