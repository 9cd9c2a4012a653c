"""strop explain --from-trl / --from-verl: what another trainer's configuration computes, in words and as a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from strop.cli.tables import make_console, print_json, say, table
from strop.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import Console

    from strop.bridges.translate import Note, Translation


def explain_foreign(sources: Mapping[str, str], row: str, json: bool) -> bool:
    """Print the translation of the peer's configuration that is given; False where none is, and a row is."""
    given = [(peer, source) for peer, source in sources.items() if source]
    if len(given) + bool(row) != 1:
        raise ConfigError(
            "explain takes one of: a row of `strop algorithms`, --from-trl SETTINGS, --from-verl SETTINGS"
        )
    if row:
        return False
    from strop.bridges.translate import translate

    translation = translate(*given[0])
    if json:
        print_json({**translation.as_json(), "formula": _formula(translation)})
    else:
        _show(translation)
    return True


def _formula(translation: Translation) -> list[str]:
    from strop.cli.formula import formula
    from strop.config.load import load

    return formula(load(mapping=translation.config).row)


def _show(translation: Translation) -> None:
    console = make_console()
    say(console, f"what {translation.peer} {translation.version} computes", "bold")
    table(console, translation.words, indent=2)
    say(console)
    say(console, "as a row of strop", "bold")
    for line in _formula(translation):
        say(console, f"  {line}")
    _notes(console, "traps: not what it may seem", translation.traps)
    _notes(console, "not in the row: strop computes this differently, or not at all", translation.missing)
    say(console)
    say(console, "as a configuration, for `strop config` and `strop train`", "bold")
    for line in translation.to_yaml().splitlines():
        say(console, f"  {line}" if line else "")


def _notes(console: Console, title: str, notes: Sequence[Note]) -> None:
    if not notes:
        return
    say(console)
    say(console, title, "bold")
    for note in notes:
        say(console, f"  {note.key}: {note.text}")
        if note.link:
            say(console, f"      {note.link}")
