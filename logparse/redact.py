"""Takes secrets and personal details out of text before it is shown.

The placeholders carry no number and no hash, so two reports of one log still compare. Redaction is idempotent:
what it puts in, it does not touch again.
"""

from __future__ import annotations

import re

_NAME = (
    r"(?:(?:[a-z]+[_-])?api[_-]?keys?|(?:hf|hub|auth|access|refresh|id|bearer)[_-]token|secret(?:[_-](?:access[_-])?key)?"
    r"|client[_-]secret|password|passwd|authorization|ssl[_-]keyfile[_-]password)"
)
MAX_PASSES = 5
"""What one rule puts in may uncover something for another."""
_QUOTE = r"""\\{0,3}['"]"""
_VALUE = rf"""(?:\[[^\]]*\]|{_QUOTE}[^'"]*['"]|(?:Bearer|Basic)\s+[^\s,;)}}\]'"\\]+|[^\s,;)}}\]'"\\]+)"""
_EMPTY = rf"""(?!None\b|null\b|True\b|False\b|<|\[\]|{_QUOTE}<|\[{_QUOTE}<|{_QUOTE}{_QUOTE})"""


def _rule(expression: str, placeholder: str, flags: re.RegexFlag = re.IGNORECASE) -> tuple[re.Pattern[str], str]:
    return re.compile(expression, flags), placeholder


_RULES = (
    # 'api_key': 'x', api_key='x', "api_key": ["x", "y"], Authorization: Bearer x
    _rule(rf"(?<![\w#-])({_NAME}(?:{_QUOTE})?\s*[:=]\s*){_EMPTY}{_VALUE}", r"\1<secret>"),
    # A bare `token` is a secret only where its value is quoted or long: engines count tokens.
    _rule(rf"""(?<![\w#-])(token(?:{_QUOTE})?\s*[:=]\s*)(?!{_QUOTE}<)(?:{_QUOTE}[^'"]{{8,}}['"]|(?!<)[\w.~+/=-]{{16,}})""",
          r"\1<secret>"),
    # HF_TOKEN=x, AWS_SECRET_ACCESS_KEY=x
    _rule(rf"\b([A-Z][A-Z0-9_]*(?:API_?KEY|TOKEN|SECRET|PASSWORD|ACCESS_KEY(?:_ID)?)(?:{_QUOTE})?\s?[:=]\s?)"
          rf"{_EMPTY}{_VALUE}", r"\1<secret>", re.NOFLAG),
    # --api-key x, ['--api-key', 'x']
    _rule(rf"""(?<![\w-])(--{_NAME}(?:['"]?,\s?|[=\s])\s*['"]?)(?!<|-)[^\s'",\])}}]+""", r"\1<secret>"),
    _rule(r"\b(Bearer|Basic) (?!<)[A-Za-z0-9._~+/=-]{8,}", r"\1 <secret>"),
    _rule(r"\b(?:hf_[A-Za-z0-9]{20,}|sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}"
          r"|AKIA[A-Z0-9]{16}|xox[abpr]-[\w-]{10,}|nvapi-[\w-]{20,}|glpat-[\w-]{16,})", "<secret>", re.NOFLAG),
    _rule(r"\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*", "<secret>", re.NOFLAG),
    _rule(r"([?&](?:X-Amz-[A-Za-z]+|sig|signature|token|key)=)(?!<)[^&\s\"'<]+", r"\1<secret>"),
    _rule(r"(\b\w{1,20}://)[^/\s:@<]{1,200}:[^/\s@<]{1,200}@", r"\1<secret>@"),
    _rule(r"\bGPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "GPU-<uuid>"),
    _rule(r"(?<![\w.+-])[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,4}[a-z]{2,}\b", "<mail>"),
    _rule(r"(/(?:home|Users)/)(?!<)[^/\s'\",:;)<]+", r"\1<user>", re.NOFLAG),
    _rule(r"([A-Z]:\\{1,4}Users\\{1,4})(?!<)[^\\\s'\"<]+", r"\1<user>"),
    # Not a release of four parts, such as cuDNN's.
    _rule(r"(?<![\w.+-])(?<!==)(?<!version )(?<!cudnn )(?<!v)(?!0\.0\.0\.0|127\.)(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}"
          r"(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\w.])", "<ip>"),
    _rule(r"(?<=host=['\"])(?!0\.0\.0\.0|127\.|localhost|<)[\w.-]+", "<host>"),
    _rule(r"(?<![\w:])(?:[0-9a-f]{1,4}:){4,7}[0-9a-f]{1,4}(?![\w:])", "<ip>"),
    _rule(r"(?<![\w:])(?:fe80|f[cd][0-9a-f]{2}|2[0-9a-f]{3})(?::[0-9a-f]{1,4}){0,6}::(?:[0-9a-f]{1,4}:){0,6}"
          r"[0-9a-f]{1,4}(?![\w:])", "<ip>"),
)  # fmt: skip


def redact(text: str) -> str:
    """Replace keys, tokens, user names in paths, mail and network addresses by placeholders."""
    for _ in range(MAX_PASSES):
        before = text
        for expression, placeholder in _RULES:
            text = expression.sub(placeholder, text)
        if text == before:
            break
    return text
