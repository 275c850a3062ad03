"""Takes secrets and personal details out of text before it is shown.

Placeholders are stable within one process of text: the same path gives the same placeholder, so two reports of
one log still compare. Redaction is idempotent: what it puts in, it does not touch again.
"""

from __future__ import annotations

import re

_SECRET_NAME = r"(?:api_?keys?|admin_api_key|hf_token|auth_token|access_token|token|secret|password|passwd|authorization|ssl_keyfile_password)"
_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    # 'api_key': 'x', api_key='x', "api_key": ["x", "y"]
    (re.compile(rf"""(['"]?\b{_SECRET_NAME}['"]?\s*[:=]\s*)(?!None\b|null\b|<|\[\]|''|"")(\[[^\]]*\]|'[^']*'|"[^"]*"|[^\s,;)}}\]'"]+)""", re.I), r"\1<secret>"),
    (re.compile(rf"(--(?:{_SECRET_NAME}|api-keys?|hf-token|admin-api-key|auth-token)[= ])(?!<)\S+", re.I), r"\1<secret>"),
    (re.compile(r"\b(Bearer|Basic) (?!<)[A-Za-z0-9._~+/=-]{8,}", re.I), r"\1 <secret>"),
    (re.compile(r"\b(?:hf_[A-Za-z0-9]{20,}|sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|AKIA[A-Z0-9]{16}|xox[abpr]-[\w-]{10,}|nvapi-[\w-]{20,})"), "<secret>"),
    (re.compile(r"\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*"), "<secret>"),
    (re.compile(r"([?&](?:X-Amz-[A-Za-z]+|sig|signature|token|key)=)(?!<)[^&\s\"']+", re.I), r"\1<secret>"),
    (re.compile(r"(\w+://)[^/\s:@<]+:[^/\s@<]+@"), r"\1<secret>@"),
    (re.compile(r"\bGPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.I), "GPU-<uuid>"),
    (re.compile(r"[\w.+-]+@[\w-]+\.[a-z]{2,}(?:\.[a-z]{2,})?\b", re.I), "<mail>"),
    (re.compile(r"((?:/home|/Users|/root/home|/export/home)/)(?!<)[^/\s'\",:;)]+"), r"\1<user>"),
    (re.compile(r"([A-Z]:\\Users\\)(?!<)[^\\\s'\"]+"), r"\1<user>"),
    (re.compile(r"(?<![\d.])(?!0\.0\.0\.0|127\.)(?:\d{1,3}\.){3}\d{1,3}(?![\d.])(?=[:/\s'\",)\]]|$)"), "<ip>"),
    (re.compile(r"(?<![\w:])(?:[0-9a-f]{1,4}:){4,7}[0-9a-f]{1,4}(?![\w:])", re.I), "<ip>"),
)


def redact(text: str) -> str:
    """Replace keys, tokens, user names in paths, mail and network addresses by placeholders."""
    for expression, placeholder in _RULES:
        text = expression.sub(placeholder, text)
    return text
