"""`pyusdt watch FUNCTION`: the D script that shows a Python function's calls, with arguments, result, exception and time.

A call is matched with its return by the thread and the depth of calls of the function there.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

STRSIZE = 1024  # of a whole value, at most
_FRAMES = 10
_GLOB = re.compile(r"[^\s:/{};,]+")
_RESULTS = re.compile(r"\b(retval|exception)\b")

_TIMED = """#pragma D option strsize={strsize}

{probe}:function-entry
{{
	self->depth++;
}}

{probe}:function-entry{entry_predicate}
{{
	began[tid, self->depth] = timestamp;
	arguments[tid, self->depth] = repr(local);
}}

{probe}:function-return
/began[tid, self->depth]/
{{
	this->took = timestamp - began[tid, self->depth];
}}

{probe}:function-return
/began[tid, self->depth] && arg3 != 2 && this->took >= {slower}{return_predicate}/
{{
	printf("%s(%s) %s %s  %d us\\n", probefunc, arguments[tid, self->depth],
	    arg3 == 1 ? "yields" : "=", repr(retval), this->took / 1000);{stack}
}}

{probe}:function-return
/began[tid, self->depth] && arg3 == 2 && this->took >= {slower}{return_predicate}/
{{
	printf("%s(%s) raised %s  %d us\\n", probefunc, arguments[tid, self->depth],
	    repr(exception), this->took / 1000);{stack}
}}

{probe}:function-return
/self->depth > 0/
{{
	began[tid, self->depth] = 0;
	arguments[tid, self->depth] = 0;
	self->depth--;
}}
"""

_CALLS = """#pragma D option strsize={strsize}

{probe}:function-entry{entry_predicate}
{{
	printf("%s(%s)\\n", probefunc, repr(local));{stack}
}}
"""


def parse_function(text: str) -> str:
    """MODULE:FUNCTION or FUNCTION, each with globs, as a probe description without its name; raises ValueError."""
    module, colon, function = text.rpartition(":")
    if not _GLOB.fullmatch(function) or (colon and not _GLOB.fullmatch(module)):
        raise ValueError(text)
    return f"python$target:{module}:{function}"


def reads_result(
    where: str | None, results: re.Pattern[str], slower: int, only_calls: bool
) -> bool:
    """Whether a condition needs what a call returns; results: what such a condition has.  Raises ValueError: --calls prints before."""
    found = results.search(where or "")
    if only_calls and (found or slower):
        what = "--slower" if slower else found and found[0]
        raise ValueError(f"--calls prints a function when it is called: it has no {what} yet")
    return found is not None


def make_script(
    function: str,
    where: str | None = None,
    slower: int = 0,
    only_calls: bool = False,
    with_stack: bool = False,
) -> str:
    """function: as parse_function() has it; where: an expression of D; slower: nanoseconds.  Raises ValueError."""
    at_return = reads_result(where, _RESULTS, slower, only_calls)
    text = _CALLS if only_calls else _TIMED
    return text.format(
        probe=function,
        strsize=STRSIZE,
        slower=slower,
        entry_predicate=f"\n/{where}/" if where and not at_return else "",
        return_predicate=f" && ({where})" if at_return else "",
        stack=f"\n\tjstack({_FRAMES});" if with_stack else "",
    )


def format_call(record: Sequence[object]) -> str:
    """A line as `pyusdt watch` prints it; record: the values of make_script()'s record."""
    function, arguments, *more = record
    call = f"{function}({arguments})"
    if len(more) == 3:
        sign, result, microseconds = more
        return f"{call} {sign} {result}  {microseconds} us"
    if len(more) == 2:
        return f"{call} raised {more[0]}  {more[1]} us"
    return call
