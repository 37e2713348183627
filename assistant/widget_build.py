"""Puts the widget's modules into the one file that pages load.

The sources are plain ES modules with named imports of each other. They are joined in the order in
which they need each other, inside one function, so that the page sees nothing of them. The same
sources always give the same bytes.
"""

import re
from collections.abc import Iterator
from pathlib import Path

STATIC = Path(__file__).parent / "static" / "assistant"
SOURCES = STATIC / "src"
TARGET = STATIC / "widget.js"
ENTRY = "chat.js"

_IMPORT = re.compile(r'^import \{ ([\w, ]+) \} from "\./([\w-]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:const|class|function) (\w+))", re.MULTILINE)
_DECLARED = re.compile(r"^(?:export )?(?:const|let|class|function) (\w+)", re.MULTILINE)
_LEFT_OVER = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)

_HEAD = """\
/* QuickBite chat: the whole widget in one file, without dependencies.
 * Built from src/ by `manage.py build_widget`: change it there. Its use: see chat.js below.
 */
(() => {
"use strict";
if (customElements.get("quickbite-chat")) return;
"""


class WidgetBuildError(Exception):
    """The sources cannot be joined; the message names the file and what is wrong in it."""


def build(sources: Path = SOURCES) -> str:
    """The served file's text. Raises ``WidgetBuildError``."""
    modules = {name: (sources / name).read_text("utf-8") for name in _in_order(sources)}
    owners: dict[str, str] = {}
    for name, text in modules.items():
        for declared in _DECLARED.findall(text):
            if declared in owners:
                raise WidgetBuildError(f"{name}: {owners[declared]} has a {declared} already")
            owners[declared] = name
        for wanted, origin in _IMPORT.findall(text):
            missing = set(wanted.split(", ")) - set(_EXPORT.findall(modules[origin]))
            if missing:
                raise WidgetBuildError(f"{name}: {origin} exports no {', '.join(sorted(missing))}")
    parts = [f"\n// ---- {name} ----\n\n{_joined(name, text)}" for name, text in modules.items()]
    return _HEAD + "".join(parts) + "})();\n"


def _joined(name: str, text: str) -> str:
    body = _EXPORT.sub("", _IMPORT.sub("", text))
    if left := _LEFT_OVER.search(body):
        raise WidgetBuildError(f"{name}: cannot join {left[0]!r}")
    return re.sub(r"\n{3,}", "\n\n", body)


def _in_order(sources: Path) -> list[str]:
    """Every module after those that it imports; raises ``WidgetBuildError`` on a circle."""
    done: list[str] = []

    def visit(name: str, within: tuple[str, ...]) -> None:
        if name in within:
            raise WidgetBuildError(f"a circle of imports: {' → '.join((*within, name))}")
        if name in done:
            return
        for other in _imports(sources / name):
            visit(other, (*within, name))
        done.append(name)

    visit(ENTRY, ())
    if unused := {path.name for path in sources.glob("*.js")} - set(done):
        raise WidgetBuildError(f"nothing imports {', '.join(sorted(unused))}")
    return done


def _imports(path: Path) -> Iterator[str]:
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError as error:
        raise WidgetBuildError(f"there is no {path.name}") from error
    return (origin for _, origin in _IMPORT.findall(text))
