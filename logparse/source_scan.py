"""What the source of a release prints, against what the pattern sets read.

Each message of the source is rendered with plausible figures and read as if it stood in a log. Where that fails, a
pattern still reads it if one of the pattern's own samples can have been made from it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import regex as rx

from logparse import match
from logparse.patterns import SEARCH_SECONDS
from logparse.source_messages import Hole, Template, messages, spelled, words_of
from logparse.units import BYTES, OTHER_UNITS
from logparse.unread import NEAR
from logparse.unwrap import Passage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from logparse.patterns import Pattern, PatternSet
    from logparse.source_messages import Message
    from logparse.source_tree import Tree
    from logparse.versions import Version

STYLES = ("plausible", "decimals", "counts", "words", "nothing")
"""Ways to fill the holes of a message whose format does not say what they hold."""
_SIZE, _SHORT, _COUNT, _WORD = "12.345678", "12.34", "4096", "name"
_UNIT = re.compile(rf"\s?(?:{'|'.join(map(re.escape, sorted([*BYTES, *OTHER_UNITS], key=len, reverse=True)))}|seconds)")
_SIZED = re.compile(r"\} ?[KMGT]i?B\b|\b(?:mem|memory|usage)\b[\w ]{0,20}[=:] ?\{:[^}]*f")
_COUNTED = re.compile(r"\s?(?:tokens|blocks|slots|requests|bytes|B|layers|graphs)\b")
_EXCEPTION = re.compile(r"^[A-Za-z_.]*(?:Error|Exception|Warning): ")
_LETTERS = re.compile(r"[A-Za-z]{3,}")
_LINE_BREAK = re.compile(r"(?:\\r)?\n|\r\n?")
_FIGURE = r"[-+\d.,]+?%?"
LENGTHS, MOST_TEXTS = (1, 2, 3), 24
"""Words of a phrase, and texts that are tried at once."""
_SPACE = re.compile(r"\s+")
SAMPLE_END = 6
"""Characters at the end of a shortened sample that must be the message's own."""


@dataclass(frozen=True)
class Wording:
    """One wording of a source: how its template is spelled, one rendering, and where it stands."""

    template: str
    rendered: str
    places: tuple[tuple[str, int], ...]
    patterns: tuple[Pattern, ...]
    """Those that read it."""
    near: tuple[Pattern, ...] = ()
    """Those whose anchor stands in it, where none reads it."""
    is_logged: bool = True
    """False for an exception or an assertion."""

    @property
    def is_size(self) -> bool:
        """True where it is logged and holds a size in units of memory, not only a count."""
        return self.is_logged and _SIZED.search(self.template) is not None

    @property
    def place(self) -> str:
        """Its first place, as `file:line`."""
        return "{}:{}".format(*self.places[0])


@dataclass(frozen=True)
class Scan:
    """The wordings of a release by what the pattern sets make of them."""

    tree: Tree
    known: tuple[Wording, ...]
    outside: tuple[Wording, ...]
    """Read, but by patterns whose releases do not include this one."""
    new: tuple[Wording, ...]
    """Look like memory, and nothing reads them."""
    gone: tuple[Pattern, ...]
    """Claim this release, but their words are nowhere in its source."""


def scan(tree: Tree, patterns: PatternSet) -> Scan:
    """Compare the source of a release with the pattern sets."""
    said, all_words = _gathered(tree)
    reader = _Reader(tree.engine, patterns)
    known: list[Wording] = []
    outside: list[Wording] = []
    new: list[Wording] = []
    read: set[str] = set()
    for template, found in said.items():
        wording = reader.wording(template, found)
        read.update(pattern.id for pattern in wording.patterns)
        if all(message.kind == "loose" for message in found):
            continue
        if wording.patterns:
            held = any(tree.release in pattern.releases for pattern in wording.patterns)
            (known if held else outside).append(wording)
        elif reader.looks_like_memory(template):
            new.append(wording)
    gone = [p for p in reader.own if p.id not in read and _claims(p, tree.release) and p.anchor not in all_words]
    return Scan(tree, _sorted(known), _sorted(outside), _sorted(new), tuple(gone))


def _claims(pattern: Pattern, release: Version) -> bool:
    """True where an open range of a pattern says that it still holds in this release."""
    return any(low is not None and low <= release and high is None for low, high in pattern.releases.spans)


def _sorted(wordings: list[Wording]) -> tuple[Wording, ...]:
    """Wordings by their place; those that are spelled alike are one."""
    alike: dict[str, Wording] = {}
    for wording in sorted(wordings, key=lambda wording: wording.places):
        old = alike.get(wording.template, wording)
        places = tuple(sorted({*old.places, *wording.places}))
        alike[wording.template] = replace(old, places=places, is_logged=old.is_logged or wording.is_logged)
    return tuple(alike.values())


def _gathered(tree: Tree) -> tuple[dict[Template, list[Message]], str]:
    """Messages by the template of each of their lines, and all literals of the source."""
    said: dict[Template, list[Message]] = defaultdict(list)
    literals: set[str] = set()
    for file, text in tree.files.items():
        for message in messages(file, text):
            literals.add(words_of(message.template))
            for line in _lines(message.template):
                said[line].append(message)
    return said, "\n".join(literals)


def _lines(template: Template) -> Iterable[Template]:
    """A message of several lines line by line: that is how a log holds it."""
    line: list[str | Hole] = []
    for part in template:
        pieces = [part] if isinstance(part, Hole) else _LINE_BREAK.split(part)
        for index, piece in enumerate(pieces):
            if index:
                yield _trimmed(line)
                line = []
            line.append(piece)
    yield _trimmed(line)


def _trimmed(line: list[str | Hole]) -> Template:
    parts = [part for part in line if part != ""]
    if parts and isinstance(parts[0], str):
        parts[0] = parts[0].lstrip()
    if parts and isinstance(parts[-1], str):
        parts[-1] = parts[-1].rstrip()
    return tuple(part for part in parts if part != "")


def rendered(template: Template, style: str = "plausible") -> str:
    """A message with its holes filled."""
    parts = []
    for index, part in enumerate(template):
        behind = template[index + 1] if index + 1 < len(template) else ""
        parts.append(
            part if isinstance(part, str) else _filling(part, behind if isinstance(behind, str) else "", style)
        )
    return "".join(parts)


def _filling(hole: Hole, behind: str | Hole, style: str) -> str:
    kind = hole.spec[-1:]
    if kind in "diouxXn," and kind:
        return f"{int(_COUNT):,}" if "," in hole.spec else _COUNT
    if kind in "fFeEgG%" and kind:
        decimals = re.search(r"\.(\d)", hole.spec)
        figure = f"{float(_SIZE):.{decimals[1] if decimals else 6}f}"
        return figure + "%" * (kind == "%")
    fillings = {"decimals": _SHORT, "counts": _COUNT, "words": hole.name or _WORD, "nothing": ""}
    if style == "plausible":
        behind = behind if isinstance(behind, str) else ""
        style = "counts" if _COUNTED.match(behind) else "decimals" if _UNIT.match(behind) else "words"
    return fillings[style]


class _Reader:
    """Tells which patterns read a template."""

    def __init__(self, engine: str, patterns: PatternSet) -> None:
        self.patterns = patterns
        self.own = [p for p in patterns.patterns if p.engine == engine]
        self.tried = [p for p in patterns.patterns if p.engine in (engine, "common")]
        self.prefix = next((p.samples[0].line for p in patterns.prefixes if p.engine == engine and p.samples), "")

    @cached_property
    def by_word(self) -> dict[str, list[Pattern]]:
        """Patterns by each word of their anchor."""
        table: dict[str, list[Pattern]] = defaultdict(list)
        for pattern in self.tried:
            for word in set(_LETTERS.findall(pattern.anchor)) or {""}:
                table[word].append(pattern)
        return table

    def candidates(self, words: str) -> list[Pattern]:
        """Patterns most of whose anchor's words are among those of a message; a hole may hold the others."""
        said = {*_LETTERS.findall(words), ""}
        found = {p.id: p for word in said for p in self.by_word.get(word, ())}
        return [p for p in found.values() if _own(p, said, words)]

    def wording(self, template: Template, found: list[Message]) -> Wording:
        """What is known of a template."""
        words = words_of(template)
        candidates = self.candidates(words)
        read = self._read(template, candidates) if candidates else []
        near = [p for p in candidates if p.anchor in words] if not read else []
        places = tuple(sorted({(message.file, message.line) for message in found if message.kind != "loose"}))
        places = places or ((found[0].file, found[0].line),)
        is_logged = any(message.kind == "log" for message in found)
        return Wording(spelled(template), rendered(template), places, tuple(read), tuple(near), is_logged)

    def _read(self, template: Template, candidates: list[Pattern]) -> list[Pattern]:
        texts = dict.fromkeys(rendered(template, style) for style in STYLES)
        ids = {event.pattern.id for text in texts for event in self._events(text)}
        rest = [p for p in candidates if p.id not in ids]
        ids |= {p.id for p in rest if _made_from(p, template)}
        if not ids:
            ids |= {p.id for p in rest if _can_be_read(p, template)}
        return [pattern for pattern in self.tried if pattern.id in ids]

    def _events(self, text: str) -> list[match.Event]:
        return match.match_passage(Passage(text, (0,), (1,)), self.patterns)

    def looks_like_memory(self, template: Template) -> bool:
        """True where a message, with figures in it, is one that a report would list as not read."""
        looks = self.patterns.unread
        line = self.prefix + rendered(template)
        around = (line[max(0, f.start() - NEAR) : f.end() + NEAR] for f in looks.figure.finditer(line))
        return any(looks.apply_to(line, near) for near in around)


def _made_from(pattern: Pattern, template: Template) -> bool:
    """True where one of a pattern's samples, or the beginning of it, can have been made from the template."""
    words = words_of(template)
    taken = "".join(f"(?!{word})" for word in _taken(pattern, template))
    made = rx.compile("".join(_expression(part, taken) for part in template), rx.DOTALL)
    return any(_makes(made, words, _EXCEPTION.sub("", sample.line).strip()) for sample in pattern.samples)


def _taken(pattern: Pattern, template: Template) -> set[str]:
    """Words of a pattern's anchor that the message has of its own: what fills its holes has none of them."""
    return {*_LETTERS.findall(pattern.anchor)} & {*_LETTERS.findall(words_of(template))}


def _can_be_read(pattern: Pattern, template: Template) -> bool:
    """True where the pattern reads the template with some phrases of its own samples in the holes."""
    words = [_SPACE.split(sample.line) for sample in pattern.samples]
    runs = {" ".join(w[i : i + n]) for w in words for n in LENGTHS for i in range(len(w) - n + 1)}
    taken = _taken(pattern, template)
    phrases = {run for run in runs if not any(word in run for word in taken)}
    texts = [""]
    for index, part in enumerate(template):
        behind = template[index + 1] if index + 1 < len(template) else ""
        texts = [text + filling for text in texts for filling in _fillings(part, behind, phrases)]
        texts = [text for text in texts if _begins(pattern, text)][:MOST_TEXTS]
    return any(pattern.regex.match(text, timeout=SEARCH_SECONDS) for text in texts)


def _fillings(part: str | Hole, behind: str | Hole, phrases: Iterable[str]) -> Iterable[str]:
    if isinstance(part, str):
        return (part,)
    usual = [_filling(part, behind, style) for style in STYLES]
    return dict.fromkeys([*usual, *(() if part.spec else phrases)])


def _begins(pattern: Pattern, text: str) -> bool:
    """True where a text is the beginning of what the pattern reads, or holds it."""
    try:
        return pattern.regex.match(text, partial=True, timeout=SEARCH_SECONDS) is not None
    except TimeoutError:
        return False


def _own(pattern: Pattern, said: set[str], words: str) -> bool:
    """True where most letters of a pattern's anchor stand in the words of a message itself."""
    wanted = _LETTERS.findall(pattern.anchor)
    if not wanted:
        return pattern.anchor in words
    return 2 * sum(len(word) for word in wanted if word in said) >= sum(map(len, wanted))


def _makes(made: rx.Pattern[str], words: str, line: str) -> bool:
    try:
        found = made.fullmatch(line, partial=True, timeout=SEARCH_SECONDS)
    except TimeoutError:
        return False
    # Where a sample is only the beginning, it must end within words: a hole would hold whatever is left of it.
    return found is not None and (not found.partial or line[-SAMPLE_END:] in words)


def _expression(part: str | Hole, taken: str) -> str:
    """A regex for a part of a message; a hole holds no word that the message has of its own."""
    if isinstance(part, str):
        return rx.escape(part, special_only=True)
    return _FIGURE if part.spec and part.spec[-1] in "diouxXnfFeEgG%," else f"(?:{taken}.)*?"
