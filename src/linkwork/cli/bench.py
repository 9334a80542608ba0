"""Runs a benchmark: proves the answer right, then times it against its peers.

linkwork bench
linkwork bench dynamics --quick
linkwork bench dynamics --json figures.json
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import linkwork
from linkwork.cli.exit_codes import DONE, MISSED
from linkwork.cli.screen import console, table
from linkwork.errors import LinkworkError

NAME = "bench"
SUMMARY = "time Linkwork against its peers"

PACKAGE = "linkwork_benchmarks"  # the name the folder of benchmarks is imported under
HELPERS = (  # files of that folder that are no benchmarks
    "__init__",
    "adaptive_dynamics_accuracy",
    "adaptive_dynamics_cases",
    "adaptive_dynamics_parts",
    "adaptive_dynamics_plots",
    "adaptive_dynamics_scaling",
    "adaptive_dynamics_timing",
    "adaptive_dynamics_updates",
    "harness",
    "molecules_dynamics",
    "peers",
    "quasi_statics_molecule",
    "quasi_statics_page",
    "quasi_statics_parts",
    "quasi_statics_plots",
    "recordings_sizes",
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("benchmark", metavar="NAME", nargs="?", help="which benchmark; without it: list them")
    parser.add_argument(
        "options", nargs=argparse.REMAINDER, metavar="...", help="its options; see `linkwork bench NAME --help`"
    )


def run(arguments: argparse.Namespace) -> int:
    folder = benchmark_folder()
    names = benchmark_names(folder)
    if arguments.benchmark is None:
        rows = [(name, _headline(folder / f"{_stem(name)}.py")) for name in names]
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
    if options.json is not None:
        report.save(options.json)
        print(f"figures written to {options.json}", file=sys.stderr)
    return MISSED if options.strict and not report.passed else DONE


def _option_parser(module: ModuleType, name: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"linkwork bench {name}", description=module.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", metavar="FILE", type=Path, help="write every figure and its environment to FILE")
    parser.add_argument("--quick", action="store_true", help="small sizes and few rounds: shows that it runs")
    parser.add_argument("--strict", action="store_true", help="exit with code 3 when a required figure is missed")
    configure_module: Any = getattr(module, "configure", None)
    if configure_module is not None:
        configure_module(parser)
    return parser


def benchmark_folder() -> Path:
    """Benchmarks of the source checkout when there is one, or those the wheel brought."""
    package = Path(linkwork.__file__).parent
    checkout = package.parents[1]
    if (checkout / "pyproject.toml").is_file() and (checkout / "benchmarks").is_dir():
        return checkout / "benchmarks"
    installed = package / "_benchmarks"
    if installed.is_dir():
        return installed
    raise LinkworkError("this installation has no benchmarks; run from a source checkout or install a wheel.")


def benchmark_names(folder: Path) -> list[str]:
    stems = (path.stem for path in folder.glob("*.py"))
    return sorted(stem.replace("_", "-") for stem in stems if stem not in HELPERS and stem[0] != "_")


def _stem(name: str) -> str:
    """A benchmark's file: `quasi-statics` on the command line is quasi_statics.py."""
    return name.replace("-", "_")


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


def _headline(path: Path) -> str:
    """First line of a module's docstring, read without importing it and its peers."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0]
