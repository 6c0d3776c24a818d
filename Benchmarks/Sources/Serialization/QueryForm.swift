internal import Curlew
internal import FoundationEssentials

/// Encodes a search form of 20 pairs, some of them nested, as a query. Foundation's URLComponents receives the final
/// names.
func queryForm() throws -> Contest {
    let tree = searchForm
    let style = RequestParameters.Style()
    let items = try style.pairs(of: tree).map { URLQueryItem(name: $0.name, value: try style.text(of: $0)) }
    guard items.count == 20 else { throw WrongResult(workload: "query-20-pairs", client: "curlew") }
    let own = { try style.form(tree) }
    let foundation = {
        var components = URLComponents()
        components.queryItems = items
        return components.percentEncodedQuery ?? ""
    }
    // The two encoders escape different characters, but their queries have the same meaning.
    var read = URLComponents()
    read.percentEncodedQuery = try own()
    guard read.queryItems == items else { throw WrongResult(workload: "query-20-pairs", client: "curlew") }
    return Contest(
        workload: "query-20-pairs", repetitions: 10_000,
        entrants: [
            Contest.Entrant(name: "curlew") { try own().utf8.count },
            Contest.Entrant(name: "urlcomponents") { foundation().utf8.count },
        ])
}

private let searchForm: ParameterValue = [
    "query": "Numenius arquata, große Brachvögel",
    "page": 2,
    "per_page": 50,
    "sort": "last_seen desc",
    "locale": "de_DE",
    "exact": false,
    "bounds": ["north": 54.9, "south": 53.3, "east": 9.8, "west": 6.6],
    "filter": [
        "habitat": ["salt marsh", "mud flat", "moor & heath"],
        "ringed": true,
        "observer": ["name": "Ørsted, H. C.", "mail": "hc+birds@example.org"],
        "since": "2024-03-01T00:00:00Z",
    ],
    "fields": ["id", "name", "position"],
]
