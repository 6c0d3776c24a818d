"""The table and the file of results."""

import json
from pathlib import Path

from driver.comparison import Results
from driver.workloads import Workload

# The clients that the ratios are taken against.
PEERS = ("raw", "ahc", "go")
HTTP3_PEERS = ("raw", "curl")


def rows(results: Results, workloads: list[Workload], peers: tuple[str, ...]) -> list[dict]:
    """A row for each workload, client and metric, with its ratio to each peer."""
    found = []
    for workload in workloads:
        base = results.get(workload.compared_with or workload.name, {})
        for client, metrics in results.get(workload.name, {}).items():
            for metric, median in metrics.items():
                found.append({
                    "workload": workload.name,
                    "client": client,
                    "metric": metric,
                    "median": round(median, 3),
                } | {f"ratio_to_{peer}": ratio(median, base.get(peer, {}).get(metric)) for peer in peers})
    return found


def failures(results: Results) -> list[str]:
    """The workloads in which a request of Curlew or of libcurl alone failed. Errors of other clients are only shown."""
    return [
        f"{workload}, {client}: {metrics['errors']:.0f} errors"
        for workload, clients in results.items() for client, metrics in clients.items()
        if client in ("raw", "curlew") and metrics["errors"]]


def ratio(value: float, base: float | None) -> float | None:
    return round(value / base, 3) if base else None


def write(rows: list[dict], path: Path) -> None:
    """Writes the rows as JSON, one a line."""
    lines = ",\n".join("  " + json.dumps(row) for row in rows)
    path.write_text(f"[\n{lines}\n]\n")


def table(rows: list[dict], peers: tuple[str, ...]) -> str:
    """The rows for people to read."""
    head = ("workload", "client", "metric", "median", *(f"x {peer}" for peer in peers))
    lines = [head] + [
        (row["workload"], row["client"], row["metric"], number(row["median"]),
         *(times(row[f"ratio_to_{peer}"]) for peer in peers)) for row in rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join("  ".join(pad(cell, width, place) for place, (cell, width) in enumerate(zip(line, widths)))
                     for line in lines)


def pad(cell: str, width: int, place: int) -> str:
    return cell.ljust(width) if place < 3 else cell.rjust(width)


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 or value == int(value) else f"{value:,.2f}"


def times(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
