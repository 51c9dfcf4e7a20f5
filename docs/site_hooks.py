"""What mkdocs does for the site besides mkdocs.yml: the four tabs, GitHub's anchors, links to files outside of docs/.

Source of the functions' names and arguments: MkDocs' user guide, "Plugins", "Events".
"""

import glob
import os
import re

DOCS = os.path.dirname(os.path.abspath(__file__))
# The files of this tree on the web (https://…/blob/main), as in setup.py; without it such a link is plain text
URL = os.environ.get("PYUSDT_URL", "").rstrip("/")
TABS = {"Start": "start", "How-to": "howto", "Reference": "reference", "Internals": "internals"}


def github_anchor(heading, separator="-"):
    """The anchor that GitHub gives to a heading; Python-Markdown's own drops what is not ASCII."""
    return re.sub(r"[^\w -]", "", heading.strip().lower()).replace(" ", separator)


def tab_pages(folder, index):
    """The pages of a folder below docs/, in the order of the index; those in folders of their own are at the end."""
    pages = [
        os.path.relpath(path, DOCS)
        for path in glob.glob(os.path.join(DOCS, folder, "**", "*.md"), recursive=True)
    ]
    order = {link: n for n, link in enumerate(re.findall(r"\]\(([^)#\s]+)", index))}
    return sorted(pages, key=lambda page: (page.count("/"), order.get(page, len(order)), page))


def on_config(config):
    with open(os.path.join(DOCS, "README.md"), encoding="utf-8") as file:
        index = file.read()
    config.nav = [{tab: tab_pages(folder, index)} for tab, folder in TABS.items()]
    config.nav.insert(0, {"All pages": "README.md"})
    config.mdx_configs["toc"] = {"slugify": github_anchor, "permalink": True}
    return config


def on_page_markdown(markdown, page, config, files):
    return link_outside(markdown, os.path.dirname(page.file.src_uri))


def link_outside(markdown, folder):
    """A page's text, in which links that leave docs/ lead to URL."""

    def changed(match):
        words, target = match.groups()
        path = os.path.normpath(os.path.join("docs", folder, target))
        if "://" in target or target.startswith("#") or path.startswith("docs/"):
            return match[0]
        return f"[{words}]({URL}/{path})" if URL else words

    return re.sub(r"(?<!!)\[([^]]*)\]\(([^)\s]+)\)", changed, markdown)
