"""The table and the file of results."""

import json
from pathlib import Path

from driver.comparison import Results
from driver.workloads import WORKLOADS


def rows(results: Results) -> list[dict]:
    """A row for each workload, client and metric, with its ratio to libcurl alone, to async-http-client and to Go."""
    found = []
    for workload in WORKLOADS:
        base = results.get(workload.compared_with or workload.name, {})
        for client, metrics in results.get(workload.name, {}).items():
            for metric, median in metrics.items():
                found.append({
                    "workload": workload.name,
                    "client": client,
                    "metric": metric,
                    "median": round(median, 3),
                    "ratio_to_raw": ratio(median, base.get("raw", {}).get(metric)),
                    "ratio_to_ahc": ratio(median, base.get("ahc", {}).get(metric)),
                    "ratio_to_go": ratio(median, base.get("go", {}).get(metric)),
                })
    return found


def ratio(value: float, base: float | None) -> float | None:
    return round(value / base, 3) if base else None


def write(rows: list[dict], path: Path) -> None:
    """Writes the rows as JSON, one a line."""
    lines = ",\n".join("  " + json.dumps(row) for row in rows)
    path.write_text(f"[\n{lines}\n]\n")


def table(rows: list[dict]) -> str:
    """The rows for people to read."""
    head = ("workload", "client", "metric", "median", "x raw", "x ahc", "x go")
    lines = [head] + [
        (row["workload"], row["client"], row["metric"], number(row["median"]), times(row["ratio_to_raw"]),
         times(row["ratio_to_ahc"]), times(row["ratio_to_go"])) for row in rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join("  ".join(pad(cell, width, place) for place, (cell, width) in enumerate(zip(line, widths)))
                     for line in lines)


def pad(cell: str, width: int, place: int) -> str:
    return cell.ljust(width) if place < 3 else cell.rjust(width)


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 or value == int(value) else f"{value:,.2f}"


def times(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
