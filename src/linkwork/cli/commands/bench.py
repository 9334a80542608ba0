"""Runs a benchmark: checks that the answer is right, then times it against its peers.

linkwork bench --list
linkwork bench dynamics --quick
linkwork bench dynamics --json results.json
linkwork bench dynamics --page docs/benchmarks/dynamics.md
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from linkwork.cli.exit_codes import DONE, MISSED
from linkwork.cli.screen import console, table
from linkwork.cli.shipped import headline, shipped_folder
from linkwork.errors import LinkworkError

NAME = "bench"
SUMMARY = "time Linkwork against its peers"

PACKAGE = "linkwork_benchmarks"  # the name the folder of benchmarks is imported under


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("benchmark", metavar="NAME", nargs="?", help="which benchmark; without it: list them")
    parser.add_argument("--list", action="store_true", help="list the benchmarks and run none")
    parser.add_argument(
        "options", nargs=argparse.REMAINDER, metavar="...", help="its options; see `linkwork bench NAME --help`"
    )


def run(arguments: argparse.Namespace) -> int:
    folder = benchmark_folder()
    names = benchmark_names(folder)
    if arguments.list or arguments.benchmark is None:
        rows = [(name, headline(benchmark_file(folder, name))) for name in names]
        console().print(table("benchmarks", ("name", "what it times"), rows, left=2))
        return DONE
    if arguments.benchmark not in names:
        raise LinkworkError(f"there is no benchmark '{arguments.benchmark}'; there are {', '.join(names) or 'none'}.")
    module = load_benchmark(folder, arguments.benchmark)
    try:
        options = _option_parser(module, arguments.benchmark).parse_args(arguments.options)
    except SystemExit as stop:  # --help, or wrong usage
        return int(stop.code or 0)
    report = module.run(options)
    report.show(console())
    if getattr(options, "any_page", None) is not None:
        importlib.import_module(f"{PACKAGE}.harness").fill_in_judged(options.any_page, report)
    if options.json is not None:
        report.save(options.json)
        print(f"results written to {options.json}", file=sys.stderr)
    return MISSED if options.strict and not report.passed else DONE


def _option_parser(module: ModuleType, name: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"linkwork bench {name}", description=module.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", metavar="FILE", type=Path, help="write every result and its environment to FILE")
    parser.add_argument("--quick", action="store_true", help="small sizes and few rounds: shows that it runs")
    parser.add_argument("--strict", action="store_true", help="exit with code 3 when a requirement is missed")
    configure_module: Any = getattr(module, "configure", None)
    if configure_module is not None:
        configure_module(parser)
    with contextlib.suppress(argparse.ArgumentError):  # some benchmarks fill their page in themselves, with pictures
        help_page = "write what was measured into a Markdown page, and its tables beside it as JSON"
        parser.add_argument("--page", dest="any_page", metavar="FILE", type=Path, help=help_page)
    return parser


def benchmark_folder() -> Path:
    """Benchmarks of the source checkout when there is one, or those the wheel brought."""
    return shipped_folder("benchmarks")


def benchmark_names(folder: Path) -> list[str]:
    """Names of the benchmarks: files, and folders with an `__init__.py`, that define a function `run`."""
    files = [path for path in folder.glob("*.py") if path.stem != "__init__"]
    modules = {path.stem: path for path in files} | {path.parent.name: path for path in folder.glob("*/__init__.py")}
    return sorted(name.replace("_", "-") for name, path in modules.items() if _defines_run(path))


def benchmark_file(folder: Path, name: str) -> Path:
    """Where a benchmark begins: `quasi-statics` on the command line is quasi_statics.py or quasi_statics/__init__.py."""
    file = folder / f"{_stem(name)}.py"
    return file if file.is_file() else folder / _stem(name) / "__init__.py"


def _stem(name: str) -> str:
    return name.replace("-", "_")


def _defines_run(path: Path) -> bool:
    """Whether a module has a function `run` at its top, found without importing it and its peers."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return any(isinstance(node, ast.FunctionDef) and node.name == "run" for node in body)


def load_benchmark(folder: Path, name: str) -> ModuleType:
    """Imports one benchmark; the folder becomes a package, so that benchmarks share helpers by relative imports."""
    if PACKAGE not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            PACKAGE, folder / "__init__.py", submodule_search_locations=[str(folder)]
        )
        if spec is None or spec.loader is None:
            raise LinkworkError(f"the benchmarks in {folder} cannot be imported.")
        package = importlib.util.module_from_spec(spec)
        sys.modules[PACKAGE] = package
        spec.loader.exec_module(package)
    return importlib.import_module(f"{PACKAGE}.{_stem(name)}")
