"""The widget's source holds together: no word is lost, none is missing, the served file is new."""

from __future__ import annotations

import re
from collections import Counter
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from assistant import widget_build


def _source() -> str:
    return widget_build.TARGET.read_text("utf-8")


def _words() -> list[str]:
    """The keys of the table of words, as often as they stand there."""
    table = re.search(r"const WORDS = \{\n(.*?)\n *\};", _source(), re.DOTALL)
    assert table
    return re.findall(r"^ *(\w+):", table[1], re.MULTILINE)


def test_no_word_hides_another() -> None:
    twice = [key for key, times in Counter(_words()).items() if times > 1]
    assert twice == []


def test_every_word_that_is_said_is_there() -> None:
    said = set(re.findall(r'say\("(\w+)"', _source()))
    states = set(re.findall(r'become\("(\w+)"\)', _source())) - {"idle"}
    assert {"signedOut", "online"} <= said | states
    assert (said | states) - set(_words()) == set()


# ---- the one file from its modules ---------------------------------------------------------------


def test_the_served_file_is_the_one_from_the_sources() -> None:
    assert _source() == widget_build.build(), "run manage.py build_widget"


def _write(folder: Path, **modules: str) -> Path:
    for name, text in modules.items():
        (folder / f"{name}.js").write_text(text)
    return folder


def test_modules_are_joined_after_what_they_import(tmp_path: Path) -> None:
    found = widget_build.build(_write(
        tmp_path,
        chat='import { a } from "./one.js";\nimport { b } from "./two.js";\n\nuse(a, b);\n',
        one='import { b } from "./two.js";\n\nexport const a = b + 1;\n',
        two="export const b = 1;\n",
    ))  # fmt: skip
    code = [line for line in found.splitlines() if re.match(r"const|use", line)]
    assert code == ["const b = 1;", "const a = b + 1;", "use(a, b);"]


@pytest.mark.parametrize(
    ("modules", "words"),
    [
        ({"chat": 'import { a } from "./one.js";\n', "one": "const a = 1;\n"}, "exports no a"),
        ({"chat": 'import { a } from "./one.js";\n'}, "there is no one.js"),
        (
            {
                "chat": 'import { a } from "./one.js";\nconst a = 2;\n',
                "one": "export const a = 1;\n",
            },
            "one.js has a a already",
        ),
        (
            {
                "chat": 'import { a } from "./one.js";\n',
                "one": 'import { b } from "./chat.js";\nexport const a = 1;\n',
            },
            "a circle of imports",
        ),
        ({"chat": 'import all from "./one.js";\n'}, "cannot join"),
        ({"chat": "", "alone": ""}, "nothing imports alone.js"),
    ],
    ids=["not exported", "missing", "twice", "circle", "other syntax", "unused"],
)
def test_what_cannot_be_joined_is_said(tmp_path: Path, modules: dict[str, str], words: str) -> None:
    with pytest.raises(widget_build.WidgetBuildError, match=re.escape(words)):
        widget_build.build(_write(tmp_path, **modules))


def test_the_command_writes_the_file_and_tells_when_it_is_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "widget.js"
    target.write_text("old")
    monkeypatch.setattr(widget_build, "TARGET", target)
    with pytest.raises(CommandError, match="older than src"):
        call_command("build_widget", check=True)
    assert target.read_text() == "old"
    call_command("build_widget", stdout=StringIO())
    assert target.read_text() == widget_build.build()
    call_command("build_widget", check=True)
