"""The C preprocessor of -C: the system's cpp(1), run as dtrace runs it.

In: a script's bytes, the options.  Out: what cpp made of them, with its `# line "file"` markers.
Always: cpp reads /dev/stdin, which is how its markers tell the script itself from what it includes;
its messages go to our own standard error.
"""

import platform

from ... import debug
from ..errors import PreprocessError

_ALWAYS = ("-D__linux", "-D__unix", "-D__SVR4", "-D__SUNW_D=1", "-U__GNUC__", "-D__SUNW_D_64")
_VERSION = "-D__SUNW_D_VERSION=0x02000000"
_STDC = {"a": "-std=c99", "c": "-std=c99", "t": "-std=c99", "s": "-traditional-cpp"}


def preprocess(text, options):
    """The preprocessed text of a script."""
    from subprocess import PIPE, run

    program = options.get("cpppath", "cpp")
    words = [*_ALWAYS, f"-D__{platform.system()}", *options.get("cppargs", ()), _VERSION]
    words.append(_STDC[options.get("stdc") or "a"])
    debug.say("preprocessor: %s %s", program, " ".join(words))
    try:
        done = run([program, *words, "/dev/stdin"], input=without_interpreter(text), stdout=PIPE, check=False)
    except FileNotFoundError:
        raise PreprocessError("Preprocessor not found") from None
    except OSError:
        raise PreprocessError("Failed to exec preprocessor") from None
    if done.returncode:
        raise PreprocessError("Preprocessor failed to process input program")
    return done.stdout


def without_interpreter(text):
    """The text without a first line that begins with #!, on which cpp would choke; its line end stays."""
    if not text.startswith(b"#!"):
        return text
    end = text.find(b"\n")
    return b"" if end < 0 else text[end:]
