"""Secrets in a text: finds and hides what looks like a token or a password."""

import re
from typing import Final

from ftc.spec.findings.file_explanations import SECRET
from ftc.spec.findings.finding import Finding
from ftc.spec.text.document import Lines

#: Tokens of the Hub, AWS and GitHub, `sk-` keys, passwords in URLs, and private keys.
_SECRET: Final = re.compile(
    r"\bhf_[A-Za-z0-9]{30,}"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    r"|\bgh[oprsu]_[A-Za-z0-9]{36,}|\bgithub_pat_\w{50,}"
    r"|\bsk-[\w-]{32,}"
    r"|://[^\s/:@\"']{0,100}:[^\s/@\"']{1,200}@"
    r"|-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----"
)
#: A long word of letters and digits under a secret's name, such as a W&B API key.
_NAMED: Final = re.compile(
    r"(?:key|token|secret|password)[\"']?\s{0,9}[:=]\s{0,9}[\"']?"
    r"(?=[a-z+/]{0,99}[0-9])(?=[0-9+/]{0,99}[a-z])([a-z0-9+/]{32,}={0,2})",
    re.IGNORECASE,
)


def find_secrets(text: str) -> tuple[Finding, ...]:
    """Return a finding for each secret; a file with a secret is not read any further."""
    found = {match.start() for match in _SECRET.finditer(text)}
    found |= {match.start(1) for match in _NAMED.finditer(text)}
    lines = Lines.of(text) if found else None
    return tuple(
        SECRET.finding().at(lines.position(start)) for start in sorted(found) if lines is not None
    )


def redact(text: str) -> str:
    """Return the text with each character of a secret replaced by a dot."""
    hidden = _SECRET.sub(lambda match: "•" * len(match[0]), text)
    return _NAMED.sub(lambda match: match[0].replace(match[1], "•" * len(match[1])), hidden)
