"""Names whose values are secrets: passwords, tokens, keys.

- A name is split into words (`dbPassword`, `db_password`); a word or two to three adjacent words
  decide.
- The traced program's own names (PYUSDT_REDACT) cannot be overruled by whoever reads it.
"""

from __future__ import annotations

import fnmatch
import re

VARIABLE = "PYUSDT_REDACT"
LONGEST = 4096  # characters of a name that are looked at
_ENVIRONMENT = 1 << 22  # bytes
_VETO, _PATTERNS = 1 << 17, 10_000  # bytes of the variable, names in it: more take long to compile

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
# In lower case, without separators.  A plural has an s more.
_LISTED = """
    accesskey accountkey apikey apisecret appkey appsecret auth authcode authheader authkey
    authorization bearer cardnumber clientsecret connectionstring consumerkey cookie credential
    creditcard csrf cvc cvv cvv2 databaseurl dburl dsn encryptionkey hmackey iban idtoken jwt
    masterkey mnemonic nonce oauth otp passcode passphrase passwd password pgpkey pin postgresurl
    privatekey pwd redisurl refreshtoken salt secret secretkey securitycode seed sessionid
    sessionkey setcookie signature signingkey socialsecurity ssh sshkey ssn token totp xsrf
"""
_SECRETS = frozenset(_LISTED.split())
_ENDS = ("secret", "token", "privatekey", "secretkey")  # of a word
_PARTS = ("password", "passwd", "passphrase", "apikey")  # of a name
_LAST_WORDS = ("pass", "pw")  # DB_PASS is a secret, pass_count is none
_ADJACENT = 3


class SecretNames:
    """Which values are redacted.  extra: further names, as patterns of a shell; veto: the program's own; are_shown: the reader wants to
    see all but those of the veto."""

    def __init__(
        self, extra: list[str] | None = None, veto: list[str] | None = None, are_shown: bool = False
    ) -> None:
        self._extra = _compile_patterns(extra or [])
        self._veto = _compile_patterns(veto or [])
        self._are_shown = are_shown
        self._known: dict[str, bool] = {}

    def is_secret(self, name: str) -> bool:
        name = name[:LONGEST]
        found = self._known.get(name)
        if found is None:
            if len(self._known) >= 1 << 14:
                self._known.clear()
            found = self._known[name] = self._decide(name)
        return found

    def _decide(self, name: str) -> bool:
        lowered = name.lower()
        if self._veto and self._veto.fullmatch(lowered):
            return True
        if self._extra and self._extra.fullmatch(lowered):
            return True
        return not self._are_shown and is_on_list(name)


def is_on_list(name: str) -> bool:
    """Whether a name is one of those that every program has for its secrets."""
    words = [word.lower() for word in _WORDS.findall(name)]
    for first in range(len(words)):
        for last in range(first + 1, min(first + _ADJACENT, len(words)) + 1):
            joined = "".join(words[first:last])
            if joined in _SECRETS or joined.removesuffix("s") in _SECRETS:
                return True
    texts = [word for word in words if not word.isdigit()]
    if texts and texts[-1] in _LAST_WORDS or any(part in name.lower() for part in _PARTS):
        return True
    return any(word.removesuffix("s").endswith(_ENDS) for word in words)


def _compile_patterns(patterns: list[str]) -> re.Pattern[str] | None:
    if not patterns:
        return None
    return re.compile("|".join(fnmatch.translate(each.lower()) for each in patterns))


def split_patterns(text: str) -> list[str]:
    """Names of PYUSDT_REDACT, separated by commas or spaces."""
    return [each for each in re.split(r"[,\s]+", text) if each]


def read_veto(pid: int) -> list[str]:
    """The patterns that a process was started with in PYUSDT_REDACT.  One that is too large forbids all.
    Raises OSError."""
    with open(f"/proc/{pid}/environ", "rb") as file:
        data = file.read(_ENVIRONMENT + 1)
    if len(data) > _ENVIRONMENT:
        return ["*"]
    for entry in data.split(b"\0"):
        name, _, value = entry.partition(b"=")
        if name == VARIABLE.encode():
            patterns = split_patterns(value[: _VETO + 1].decode("utf-8", "replace"))
            return patterns if len(value) <= _VETO and len(patterns) <= _PATTERNS else ["*"]
    return []
