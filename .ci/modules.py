"""The modules of the last build with all traits, for scripts that call the compiler directly."""
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def build_folder() -> Path:
    """The folder with the products of the last debug build."""
    command = ["swift", "build", "--show-bin-path", "--enable-all-traits"]
    return Path(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip())


def options(build: Path) -> list[str]:
    """The options with which the compiler finds the modules, and the headers of the packages in Package.swift."""
    maps = [*(ROOT / "Sources").rglob("module.modulemap"), *build.glob("*.build/module.modulemap"),
            *(ROOT / ".build" / "checkouts").glob("*/Sources/**/module.modulemap")]
    packages = re.findall(r'pkgConfig: "([^"]+)"', (ROOT / "Package.swift").read_text())
    headers = subprocess.run(["pkg-config", "--cflags", *packages], check=True, capture_output=True, text=True)
    clang = [f"-fmodule-map-file={path}" for path in sorted(maps)] + headers.stdout.split()
    return ["-I", str(build / "Modules"), *[word for option in clang for word in ("-Xcc", option)]]
