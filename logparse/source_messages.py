"""The messages that a module of Python can print, as templates: what its calls of loggers, `print`, `tqdm` and
`warnings`, its exceptions and its assertions say, as far as can be told without running it.

A message is a row of literals and holes. Where a part of it is chosen (`"a" if x else "b"`, a variable that was
assigned in branches), each choice is a message of its own.
"""

from __future__ import annotations

import ast
import re
import string
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MOST_CHOICES = 12
"""Of one message; more are left out."""
_SAYS = re.compile(
    r"(?:^|_)(?:debug|info|warn|warning|error|critical|fatal|exception|log|print)(?:_|$)"
    r"|tqdm|trange|^(?:write|set_description|set_description_str|set_postfix_str)$"
)
_RAISES = re.compile(r"(?:Error|Exception|Exit|Interrupt|Warning)$")
_MESSAGE_KEYWORDS = frozenset({"desc", "msg", "message"})
_ENDINGS = {"desc": ":"}
"""What a progress bar puts behind its name."""
_PERCENT = re.compile(r"%(?:\((\w+)\))?([-+ #0]*(?:\d+|\*)?(?:\.\d+)?)[hlL]?([diouxXeEfFgGcrsa%])")
_TEXTS = (ast.Constant, ast.JoinedStr, ast.BinOp, ast.IfExp, ast.Call)
_LEAVES = (ast.Name, ast.expr_context, ast.operator, ast.cmpop, ast.boolop, ast.unaryop, ast.alias)


@dataclass(frozen=True, slots=True)
class Hole:
    """A value that is put into a message: how it is formatted (`d`, `.2f`, `,` or nothing), and its name if any."""

    spec: str
    name: str = ""


Template = tuple["str | Hole", ...]


@dataclass(frozen=True, slots=True)
class Message:
    """One message: its template, where it stands, and what says it."""

    template: Template
    file: str
    line: int
    kind: str
    """`log`, `raise`, `assert`, or `loose`: a text that nobody is seen to print."""


def messages(file: str, text: str) -> list[Message]:
    """All messages of a module; none where it is not valid Python."""
    try:
        tree = ast.parse(text)
        reader = _Reader(file)
        reader.visit(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return reader.found


def words_of(template: Template) -> str:
    """The literals of a template, with a NUL where a value stands."""
    return "".join(part if isinstance(part, str) else "\0" for part in template)


def spelled(template: Template) -> str:
    """A template as one reads it: `took {:.2f} GiB`."""
    return "".join(
        part if isinstance(part, str) else "{" + (f":{part.spec}" * bool(part.spec)) + "}" for part in template
    )


class _Scope:
    """Texts and lists of texts that the variables of a function hold."""

    def __init__(self) -> None:
        self.texts: dict[str, list[Template]] = {}
        self.lists: dict[str, list[tuple[Template, bool]]] = {}
        """Elements, and whether each is there in any case."""


class _Reader(ast.NodeVisitor):
    def __init__(self, file: str) -> None:
        self.file = file
        self.found: list[Message] = []
        self.scopes = [_Scope()]
        self.branches = [0]
        self.taken: set[int] = set()

    # -- where texts are kept

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        defaults = dict(zip(reversed(node.args.args), reversed(node.args.defaults), strict=False))
        defaults |= {
            arg: value for arg, value in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if value
        }
        texts = {arg.arg: self._texts(value) for arg, value in defaults.items()}
        self.scopes.append(_Scope())
        self.scopes[-1].texts.update({name: [*said, (Hole("", name),)] for name, said in texts.items() if said})
        self.branches.append(0)
        self.generic_visit(node)
        self.scopes.pop()
        self.branches.pop()

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _function  # noqa: N815

    def _branch(self, node: ast.AST) -> None:
        self.branches[-1] += 1
        self.generic_visit(node)
        self.branches[-1] -= 1

    visit_If = visit_For = visit_While = visit_Try = visit_Match = visit_AsyncFor = _branch  # noqa: N815

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self._keep(target.id, node.value)
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if isinstance(node.target, ast.Name) and node.value is not None:
            self._keep(node.target.id, node.value)
        self.generic_visit(node)

    def _keep(self, name: str, value: ast.expr) -> None:
        scope, sure = self.scopes[-1], not self.branches[-1]
        if isinstance(value, ast.List):
            scope.lists[name] = [(choice, True) for element in value.elts for choice in self._texts(element)[:1]]
        elif _is_text(value) or (isinstance(value, ast.Name) and self._texts(value)):
            old = [] if sure else scope.texts.get(name, [])
            scope.texts[name] = [*old, *self._texts(value)][:MOST_CHOICES]
        elif sure:
            scope.texts.pop(name, None)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        name = node.target.id if isinstance(node.target, ast.Name) else ""
        texts = self.scopes[-1].texts
        if name in texts and isinstance(node.op, ast.Add) and (added := self._texts(node.value)):
            longer = [old + more for old in texts[name] for more in added]
            texts[name] = [*longer, *(texts[name] if self.branches[-1] else [])][:MOST_CHOICES]
        self.generic_visit(node)

    # -- where texts are said

    def visit_Assert(self, node: ast.Assert) -> None:
        if node.msg is not None:
            self._say(self._texts(node.msg), node.msg, "assert")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = _called(node.func)
        if name in ("append", "extend") and isinstance(node.func, ast.Attribute):
            self._append(node)
        if _RAISES.search(name):
            self._say(self._arguments(node, name), node, "raise")
        elif _SAYS.search(name):
            self._say(self._arguments(node, name), node, "log")
        self.generic_visit(node)

    def _append(self, node: ast.Call) -> None:
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        if isinstance(owner, ast.Name) and owner.id in self.scopes[-1].lists and node.args:
            added = node.args[0].elts if isinstance(node.args[0], ast.List) else node.args[:1]
            sure = not self.branches[-1]
            self.scopes[-1].lists[owner.id] += [(text, sure) for one in added for text in self._texts(one)[:1]]

    def _arguments(self, node: ast.Call, name: str) -> list[Template]:
        """What the arguments of a call say: a format and its values, or the words of a `print`."""
        said = [arg for arg in node.args if not isinstance(arg, ast.Starred)]
        if "print" in name and "format" not in name and len(said) > 1 and not _holds_percent(said[0]):
            choices = [self._texts(arg) or [(_hole(arg),)] for arg in said]
            return _joined(choices, " ")
        first = next((i for i, arg in enumerate(said) if self._texts(arg)), None)
        if first is None:
            named = ((k.value, _ENDINGS.get(k.arg or "", "")) for k in node.keywords if k.arg in _MESSAGE_KEYWORDS)
            return [_merged([*text, ending]) for value, ending in named for text in self._texts(value)]
        texts, values = self._texts(said[first]), said[first + 1 :]
        if not values and len(said) == len(node.args):
            return texts
        return [filled for text in texts for filled in self._filled(text, values)][:MOST_CHOICES]

    def _say(self, texts: Iterable[Template], node: ast.expr, kind: str) -> None:
        for text in texts:
            self._put(text, node.lineno, kind)

    def _put(self, text: Template, line: int, kind: str) -> None:
        if any(isinstance(part, str) and any(map(str.isalpha, part)) for part in text):
            self.found.append(Message(text, self.file, line, kind))

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # documentation says nothing
            self.generic_visit(node)

    def visit(self, node: ast.AST) -> None:
        """Visit a node; a text that stands for itself is a message of its own."""
        if isinstance(node, _TEXTS) and id(node) not in self.taken and _is_text(node):
            self._say(self._texts(node), node, "loose")
            self.taken.update(id(child) for child in ast.walk(node) if isinstance(child, _TEXTS))
        method = getattr(self, f"visit_{type(node).__name__}", None)
        if method is None:
            self.generic_visit(node)
        else:
            method(node)

    def generic_visit(self, node: ast.AST) -> None:
        """Visit what stands below a node, but for what can hold no text."""
        for value in vars(node).values():
            for child in value if isinstance(value, list) else (value,):
                if isinstance(child, ast.AST) and not isinstance(child, _LEAVES):
                    self.visit(child)

    # -- what an expression says

    def _texts(self, node: ast.expr) -> list[Template]:
        """Texts that an expression may be; none where it is no text."""
        match node:
            case ast.Constant(value=str(text)):
                return [(text,)]
            case ast.JoinedStr(values=values):
                return _joined([self._part(value) for value in values])
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._sum(left, right)
            case ast.BinOp(left=left, op=ast.Mod(), right=right):
                values = right.elts if isinstance(right, ast.Tuple) else [right]
                return [filled for text in self._texts(left) for filled in self._filled(text, values)]
            case ast.IfExp(body=body, orelse=orelse):
                return [*self._texts(body), *self._texts(orelse)][:MOST_CHOICES]
            case ast.Name(id=name):
                return next((s.texts[name] for s in reversed(self.scopes) if name in s.texts), [])
            case ast.Call(func=ast.Attribute(value=owner, attr="format")):
                return [_formatted(text, node) for text in self._texts(owner)]
            case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(glue)), attr="join"), args=[parts]):
                return self._list(parts, glue)
            case ast.Call(func=ast.Attribute(value=owner, attr="strip" | "rstrip" | "lstrip")):
                return self._texts(owner)
        return []

    def _sum(self, left: ast.expr, right: ast.expr) -> list[Template]:
        one, two = self._texts(left), self._texts(right)
        if not one and not two:
            return []
        return _joined([one or [(_hole(left),)], two or [(_hole(right),)]])

    def _list(self, parts: ast.expr, glue: str) -> list[Template]:
        if isinstance(parts, ast.List | ast.Tuple):
            return _joined([self._texts(part) or [(_hole(part),)] for part in parts.elts], glue)
        name = parts.id if isinstance(parts, ast.Name) else ""
        elements = next((s.lists[name] for s in reversed(self.scopes) if name in s.lists), [])
        choices = [[text for text, _ in elements], [text for text, sure in elements if sure]]
        made = [text for chosen in choices for text in _joined([[text] for text in chosen], glue)]
        return list(dict.fromkeys(text for text in made if text))

    def _part(self, node: ast.expr) -> list[Template]:
        """Choices for one part of an f-string."""
        if not isinstance(node, ast.FormattedValue):
            return self._texts(node)
        spec = "".join(str(v.value) for v in getattr(node.format_spec, "values", []) if isinstance(v, ast.Constant))
        if not spec and isinstance(node.value, ast.Name | ast.IfExp | ast.Constant | ast.JoinedStr):
            choices = self._texts(node.value)
            if choices and not isinstance(node.value, ast.IfExp):
                return choices
            if isinstance(node.value, ast.IfExp):
                return self._either(node.value)
        return [(_hole(node.value, spec),)]

    def _either(self, node: ast.IfExp) -> list[Template]:
        sides = [self._texts(side) or [(_hole(side),)] for side in (node.body, node.orelse)]
        return [text for side in sides for text in side]

    def _filled(self, text: Template, values: Sequence[ast.expr]) -> list[Template]:
        """A text whose `%` places are filled with values; a value that is itself a text fills in its words."""
        rest = list(values)
        choices: list[list[Template]] = []
        for part in text:
            if isinstance(part, Hole) or "%" not in part:
                choices.append([(part,)])
                continue
            at = 0
            for found in _PERCENT.finditer(part):
                choices.append([(part[at : found.start()],)])
                at = found.end()
                choices.append(self._value(found, rest) if found[3] != "%" else [("%",)])
            choices.append([(part[at:],)])
        return _joined(choices)

    def _value(self, found: re.Match[str], rest: list[ast.expr]) -> list[Template]:
        value = rest.pop(0) if rest and not found[1] else None
        if value is None:
            return [(Hole(_spec(found), found[1] or ""),)]
        texts = self._either(value) if isinstance(value, ast.IfExp) else self._texts(value)
        return texts if texts and found[3] == "s" else [(_hole(value, _spec(found)),)]


def _spec(found: re.Match[str]) -> str:
    kind = {"s": "", "r": "", "a": "", "i": "d", "u": "d"}.get(found[3], found[3])
    return found[2].lstrip("-+ #0") + kind if kind else ""


def _called(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _hole(node: ast.expr, spec: str = "") -> Hole:
    return Hole(spec, _called(node.func if isinstance(node, ast.Call) else node))


def _holds_percent(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and _PERCENT.search(node.value) is not None


def _is_text(node: ast.expr) -> bool:
    """True for an expression that makes a text."""
    match node:
        case ast.Constant(value=str()) | ast.JoinedStr():
            return True
        case ast.BinOp(left=left, op=ast.Add() | ast.Mod(), right=right):
            return _is_text(left) or (isinstance(node.op, ast.Add) and _is_text(right))
        case ast.IfExp(body=body, orelse=orelse):
            return _is_text(body) or _is_text(orelse)
        case ast.Call(func=ast.Attribute(value=owner, attr="format" | "join" | "strip")):
            return _is_text(owner)
    return False


def _joined(choices: list[list[Template]], glue: str = "") -> list[Template]:
    """Every choice of parts, put together; a part without a choice is left out."""
    made: list[Template] = []
    for chosen in product(*(part for part in choices if part)):
        parts: list[str | Hole] = []
        for index, part in enumerate(chosen):
            parts += [glue, *part] if glue and index else part
        made.append(_merged(parts))
        if len(made) == MOST_CHOICES:
            break
    return made


def _merged(parts: Iterable[str | Hole]) -> Template:
    """Parts with neighbouring literals made one."""
    merged: list[str | Hole] = []
    for part in parts:
        if isinstance(part, str) and merged and isinstance(merged[-1], str):
            merged[-1] += part
        elif part != "":
            merged.append(part)
    return tuple(merged)


def _formatted(text: Template, call: ast.Call) -> Template:
    """A text whose `{}` places are filled by `.format`."""
    parts: list[str | Hole] = []
    for part in text:
        if isinstance(part, Hole):
            parts.append(part)
            continue
        try:
            pieces = list(string.Formatter().parse(part))
        except ValueError:
            return text
        for literal, name, spec, _ in pieces:
            parts += [literal] if name is None else [literal, Hole(spec or "", name)]
    return _merged(parts)
