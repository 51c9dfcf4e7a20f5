"""Which names hide their values, and who may overrule that."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from pydtrace.program import secret_names
from pydtrace.program.secret_names import SecretNames, is_on_list

SECRETS = """password PASSWORD db_password dbPassword userPasswordHash passwords pwd client_secret CLIENT_SECRET
    apiKey api_key api-key X-Api-Key API_KEYS token access_token accessToken tokens idToken csrfmiddlewaretoken
    Authorization auth http_authorization cookie Set-Cookie session_id private_key _Client__secret
    AWSSecretAccessKey dburl DATABASE_URL credentials jwt mypassword authtoken cvv
    userpasswordold PASSWORDhash DB_PASS smtp_pass1 pw"""
OTHERS = """user name total key keys tokenizer author authors path passed pinned secretary pass_count i cart
    monkey compass pineapple spinner database session größe x1 __init__ self"""


@pytest.mark.parametrize(
    "name",
    SECRETS.split(),
)
def test_secrets(name):
    assert is_on_list(name)


@pytest.mark.parametrize(
    "name",
    OTHERS.split(),
)
def test_no_secrets(name):
    assert not is_on_list(name)


def test_the_programs_own_names_win():
    both = SecretNames(extra=["card*"], veto=["salary"], are_shown=True)
    assert (
        not both.is_secret("password") and both.is_secret("Salary") and both.is_secret("cardHolder")
    )
    assert SecretNames(veto=["*"], are_shown=True).is_secret("anything")
    assert SecretNames().is_secret("password") and not SecretNames().is_secret("salary")
    assert secret_names.split_patterns("a, b\n c,,") == ["a", "b", "c"]


def test_names_are_decided_once_and_bounded():
    names = SecretNames()
    for number in range(1 << 15):
        assert not names.is_secret(f"v{number}")
    assert len(names._known) <= 1 << 14
    assert names.is_secret("x" * 100 + "_password") and not names.is_secret("x_" * 10_000)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("a,b*", ["a", "b*"]),
        ("", []),
        (None, []),
        ("x" * (1 << 17 - 1), None),
        ("a," * 20_000, ["*"]),
    ],
)
def test_the_veto_is_read_from_the_environment(value, wanted):
    environment = {**os.environ, **({} if value is None else {secret_names.VARIABLE: value})}
    command = [sys.executable, "-c", "print(1, flush=True); input()"]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        process.stdout.readline()
        found = secret_names.read_veto(process.pid)
        process.kill()
    assert found == (wanted if wanted is not None else [value])


def test_an_environment_without_end_forbids_all(monkeypatch):
    monkeypatch.setattr(secret_names, "_ENVIRONMENT", 10)
    assert secret_names.read_veto(os.getpid()) == ["*"]
