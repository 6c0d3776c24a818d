"""The files that are served and sent."""

import json
from pathlib import Path

GIBIBYTE = 1 << 30


def make(folder: Path) -> None:
    """Fills `folder`."""
    make_large(folder / "large")
    for name, size in (("json-1k", 1 << 10), ("json-100k", 100 << 10)):
        (folder / name).write_text(catalogue(size))


def make_large(path: Path) -> None:
    """A gibibyte of zeros that takes no room on the disk. Read once, so that all clients find it in the page cache."""
    with open(path, "w+b", buffering=0) as file:
        file.truncate(GIBIBYTE)
        while file.read(1 << 20):
            pass


def catalogue(size: int) -> str:
    """A catalogue of about `size` bytes."""
    items: list[dict] = []
    while len(text(items)) < size:
        items.append(item(len(items)))
    return text(items)


def item(number: int) -> dict:
    return {
        "id": number,
        "name": f"Article number {number}",
        "price": number * 1.25 + 0.5,
        "isAvailable": number % 3 != 0,
        "tags": ["paper", "blue", f"shelf-{number % 17}"],
        "maker": {"id": number % 29, "country": "Iceland"},
    }


def text(items: list[dict]) -> str:
    return json.dumps({"total": len(items), "items": items})
