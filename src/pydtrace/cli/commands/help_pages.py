"""`pyusdt help`: the pages of the documentation that are installed with the package.

- A topic is a page's name without .md; start/NAME, howto/NAME and reference/NAME name one of several.
- A tag of a message (D_PDESC_ZERO) is a topic, too: its section of reference/errors.md.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 2, "docs")
SECTIONS = {"start": "To start", "howto": "How to", "reference": "Reference"}
ERRORS = "reference/errors"
_LIST = "pyusdt help errors"
_TAG = re.compile(r"\[?(D_[A-Z0-9_]+)\]?")


class UnknownTopic(Exception):
    """No page has this name, or several have; the message is for the user."""


def page_names() -> list[str]:
    """The path of each page below FOLDER, without .md."""
    return [
        page
        for section in SECTIONS
        for page in sorted(
            os.path.relpath(os.path.join(folder, name), FOLDER)[:-3]
            for folder, _, names in os.walk(os.path.join(FOLDER, section))
            for name in names
            if name.endswith(".md")
        )
    ]


def _topic(page: str) -> str:
    """A page's plain name.  A README's is its folder's path, since a page of the reference has the folder's name."""
    folder, name = os.path.split(page)
    return folder if name == "README" else name


def topics() -> list[str]:
    """The shortest name of each page."""
    pages = page_names()
    plain = [_topic(page) for page in pages]
    return [
        name if plain.count(name) == 1 else page for page, name in zip(pages, plain, strict=True)
    ]


def find_page(topic: str) -> str:
    """The page with this name.  UnknownTopic if there is none, or more than one."""
    name = topic.removeprefix("docs/").removesuffix(".md")
    found = [page for page in page_names() if name in (page, _topic(page))]
    if len(found) == 1:
        return found[0]
    raise UnknownTopic(
        f"several pages have the name '{name}': {', '.join(found)}"
        if found
        else f"no page is called '{name}'; `pyusdt help` lists the pages"
    )


def _page_source(page: str) -> str:
    with open(os.path.join(FOLDER, f"{page}.md"), encoding="utf-8") as file:
        return file.read()


def page_text(page: str) -> str:
    """A page as a terminal shows it: without comments and pictures; a link to a page names its topic."""
    return _plain_text(_page_source(page))


def tag_in(topic: str) -> str | None:
    """The tag that the user named, with or without its brackets."""
    found = _TAG.fullmatch(topic)
    return found[1] if found else None


def tag_text(tag: str) -> str:
    """The section of reference/errors.md about a tag.  UnknownTopic if there is none."""
    sections = re.split(r"(?m)^(?=#{2,3} )", _page_source(ERRORS))
    for section in sections:
        if section.splitlines()[0].strip("# `") == tag:
            return _plain_text(section)
    raise UnknownTopic(f"no error has the tag {tag}; `{_LIST}` lists the tags")


def _plain_text(source: str) -> str:
    text = re.sub(r"(?ms)^<!--.*?-->\n\n?", "", source)
    text = re.sub(r"!\[[^]]*\]\([^)]*\)\n*", "", text)
    pages = {os.path.basename(page) for page in page_names()}
    return re.sub(r"\[([^]]+)\]\(([^)]*)\)", lambda link: _plain_link(link, pages), text)


def _plain_link(link: re.Match[str], pages: set[str]) -> str:
    """pages: the names of all, without their folders."""
    words, target = link[1], link[2].partition("#")[0]
    if target.startswith(("http:", "https:")):
        return f"{words} ({target})"
    name = os.path.basename(target)
    if not name.endswith(".md") or words.startswith("pyusdt help ") or "internals/" in target:
        return words
    topic = name.removesuffix(".md")
    if topic not in pages:
        return words
    command = f"pyusdt help {topic}"
    return command if words in (name, topic) else f"{words} ({command})"


def format_topics() -> str:
    """The list of topics, each with its page's title, by section."""
    names = dict(zip(page_names(), topics(), strict=True))
    width = max(map(len, names.values()))
    out = []
    for section, heading in SECTIONS.items():
        out.append(f"{heading}:")
        out += [
            f"  {topic.ljust(width)}  {_title(page)}"
            for page, topic in names.items()
            if page.startswith(f"{section}/")
        ]
    return "\n".join([*out, "", "pyusdt help TOPIC shows a page, pyusdt help D_TAG an error.", ""])


def _title(page: str) -> str:
    heading = next(line for line in _page_source(page).splitlines() if line.startswith("# "))
    return heading.removeprefix("# ").replace("`", "")


def show_in_pager(text: str) -> bool:
    """Shows a text by $PAGER, or less; False if the output is not a terminal or no pager runs."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    command = shlex.split(os.environ.get("PAGER", "less"))
    if not command or command == ["cat"]:
        return False
    try:
        subprocess.run(
            command,
            input=text.encode(),
            env={"LESS": "FRX", "LESSCHARSET": "utf-8", **os.environ},
            check=False,
        )
    except OSError:
        return False
    return True
