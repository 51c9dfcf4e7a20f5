"""`pyusdt watch shop:price/2`: the D script that shows an Erlang or Elixir function's calls, as `watch` does for Python's.

A call is matched with its return by the Erlang process and the depth of calls of the function there.
"""

from __future__ import annotations

import re

from pydtrace.watch_script import parse_function, reads_result

PYTHON = "python$target:"
STRSIZE = 1000  # of a whole value, at most
_NAME = re.compile(r"(?P<module>[^\s:/{};,]+):(?P<function>[^\s:/{};,]+)(?:/(?P<arity>\d{1,3}))?")
_OF_ELIXIR = re.compile(r"(?P<module>[A-Z][\w.]*)\.(?P<function>[a-z_]\w*[!?]?)/(?P<arity>\d{1,3})")
_RESULTS = re.compile(r"\barg\.(retval|exception)\b")

_TIMED = """#pragma D option strsize={strsize}

{probe}:local-function-entry{arity_predicate}
{{
	depth[copyinstr(arg0)]++;
}}

{probe}:local-function-entry{entry_predicate}
{{
	began[copyinstr(arg0), depth[copyinstr(arg0)]] = timestamp;
	arguments[copyinstr(arg0), depth[copyinstr(arg0)]] = term(arg3);
	callers[copyinstr(arg0), depth[copyinstr(arg0)]] = copyinstr(arg4);
}}

{probe}:function-return
/began[copyinstr(arg0), depth[copyinstr(arg0)]]{also_arity}/
{{
	this->took = timestamp - began[copyinstr(arg0), depth[copyinstr(arg0)]];
}}

{probe}:function-return
/began[copyinstr(arg0), depth[copyinstr(arg0)]]{also_arity} && copyinstr(arg4) == "" && this->took >= {slower}{return_predicate}/
{{
	printf("%s(%s) = %s  %d us  from %s\\n", probefunc,
	    arguments[copyinstr(arg0), depth[copyinstr(arg0)]], term(arg3), this->took / 1000,
	    callers[copyinstr(arg0), depth[copyinstr(arg0)]]);
}}

{probe}:function-return
/began[copyinstr(arg0), depth[copyinstr(arg0)]]{also_arity} && copyinstr(arg4) != "" && this->took >= {slower}{return_predicate}/
{{
	printf("%s(%s) raised %s: %s  %d us  from %s\\n", probefunc,
	    arguments[copyinstr(arg0), depth[copyinstr(arg0)]], copyinstr(arg4), term(arg3), this->took / 1000,
	    callers[copyinstr(arg0), depth[copyinstr(arg0)]]);
}}

{probe}:function-return
/depth[copyinstr(arg0)] > 0{also_arity}/
{{
	began[copyinstr(arg0), depth[copyinstr(arg0)]] = 0;
	arguments[copyinstr(arg0), depth[copyinstr(arg0)]] = 0;
	callers[copyinstr(arg0), depth[copyinstr(arg0)]] = 0;
	depth[copyinstr(arg0)]--;
}}
"""

_CALLS = """#pragma D option strsize={strsize}

{probe}:local-function-entry{entry_predicate}
{{
	printf("%s(%s)  from %s\\n", probefunc, term(arg3), copyinstr(arg4));
}}
"""


class ErlangFunction:
    """module and function may be patterns; arity: None for any."""

    def __init__(self, text: str) -> None:
        """M:F, M:F/ARITY, or as Elixir writes it, Shop.Cart.add!/1; ValueError."""
        found = _OF_ELIXIR.fullmatch(text) or _NAME.fullmatch(text)
        if not found:
            raise ValueError(text)
        self.module, self.function, self.arity = found["module"], found["function"], found["arity"]

    def predicates(self) -> list[str]:
        return [] if self.arity is None else [f'basename(copyinstr(arg1)) == "{self.arity}"']


def names_erlang(text: str) -> bool:
    """Whether a function is named with its arity, as only Erlang's are."""
    return bool(re.search(r"/\d{1,3}$", text))


def parse_watched(text: str) -> str:
    """As watch_script.parse_function(); an Erlang function with its arity, shop:price/2, as it is.  Raises ValueError."""
    if names_erlang(text):
        ErlangFunction(text)
        return text
    return parse_function(text)


def make_script(
    function: str,
    where: str | None = None,
    slower: int = 0,
    only_calls: bool = False,
    with_stack: bool = False,
) -> str:
    """As watch_script.make_script().  Raises ValueError."""
    watched = ErlangFunction(function)
    if with_stack:
        raise ValueError("--stack: calls of Erlang functions have no stack")
    at_return = reads_result(where, _RESULTS, slower, only_calls)
    arity = watched.predicates()
    entry = [*arity, *([f"({where})"] if where and not at_return else [])]
    return (_CALLS if only_calls else _TIMED).format(
        probe=f"erlang$target:{watched.module}:{watched.function}",
        strsize=STRSIZE,
        slower=slower,
        arity_predicate=_predicate(arity),
        also_arity="".join(f" && {each}" for each in arity),
        entry_predicate=_predicate(entry),
        return_predicate=f" && ({where})" if at_return else "",
    )


def _predicate(parts: list[str]) -> str:
    return f"\n/{' && '.join(parts)}/" if parts else ""
