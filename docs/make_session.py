"""docs/images/session.svg: a terminal session, drawn from what the commands really print.

    python docs/make_session.py            runs the commands, and writes the picture
    python docs/make_session.py --print    shows what would be drawn, as text

Input: SESSION, commands of a shell, run in the repository with .venv's programs first.
Output: an SVG that needs nothing else: text in the viewer's monospace font, one line a line,
colours that can be read in light and dark pages.
"""

import os
import subprocess
import sys
import tempfile
from xml.sax.saxutils import escape

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PATH = os.path.join(TOP, "docs", "images", "session.svg")
SESSION = [
    "cat examples/hello.py | tail -n 6",
    "pydtrace -q -n 'pyusdt$target:::user_trace-i4s4 { printf(\"%d %s\\n\", arg2, copyinstr(arg6)); }' -c 'python examples/hello.py'",
    "pydtrace -q -s scripts/errors.d -c 'python examples/webshop.py'",
    "pydtrace -q -s examples/latency.d -c 'python examples/webshop.py' | sed -n '/checkout/,/^$/p'",
]
WIDTH, SIZE, LINE, MARGIN = 92, 13, 17, 14  # columns; pixels


def outputs() -> list[tuple[str, str]]:
    """(command, what it printed), standard error included."""
    path = f"{os.path.join(TOP, '.venv', 'bin')}:{os.environ['PATH']}"
    found = []
    with tempfile.TemporaryDirectory() as alone:  # whatever else on the machine is traced
        environment = {**os.environ, "PATH": path, "PYUSDT_RUNDIR": alone}
        for command in SESSION:
            run = subprocess.run(
                ["bash", "-c", command],
                cwd=TOP,
                env=environment,
                text=True,
                check=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=60,
            )
            found.append((command, run.stdout.strip("\n")))
    return found


def lines(session: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """(class, text) of each line; a long command goes on in the next line, as in a terminal."""
    drawn = []
    for command, output in session:
        words = f"$ {command}"
        drawn += [("command", words[at : at + WIDTH]) for at in range(0, len(words), WIDTH)]
        drawn += [("output", line.rstrip()[:WIDTH]) for line in output.split("\n")]
        drawn.append(("output", ""))
    return drawn[:-1]


def unbroken(text: str) -> str:
    """Columns stay columns in viewers that know no `white-space: pre`."""
    return escape(text).replace(" ", "\N{NO-BREAK SPACE}")


def svg(drawn: list[tuple[str, str]]) -> str:
    width, height = MARGIN * 2 + int(WIDTH * SIZE * 0.602), MARGIN * 2 + LINE * len(drawn)
    rows = [
        f'<text class="{kind}" x="{MARGIN}" y="{MARGIN + LINE * (number + 1) - 4}">{unbroken(text)}</text>'
        for number, (kind, text) in enumerate(drawn)
        if text
    ]
    return "\n".join(
        [
            "<!-- Made by docs/make_session.py from what the commands print; do not edit. -->",
            f'<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
            "<title>A terminal session with pydtrace</title>",
            f"<style>text{{font:{SIZE}px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}}",
            ".command{fill:#7ee787;font-weight:bold}.output{fill:#e6edf3}</style>",
            f'<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>',
            *rows,
            "</svg>",
            "",
        ]
    )


def main() -> None:
    drawn = lines(outputs())
    if "--print" in sys.argv:
        print("\n".join(text for _, text in drawn))
        return
    with open(PATH, "w", encoding="utf-8") as file:
        file.write(svg(drawn))


if __name__ == "__main__":
    main()
