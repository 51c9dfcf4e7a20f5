"""pydtrace -l: the probes there are, in dtrace's columns.

In: probes as (provider, module, function, name), descriptions to match.  Out: lines of text.
Always: ids are those that a tracing started now would give.
"""

HEADING = "%5s %10s %17s %33s %s\n" % ("ID", "PROVIDER", "MODULE", "FUNCTION", "NAME")
OWN = [("dtrace", "", "", name) for name in ("BEGIN", "END", "ERROR")]


def rows(probes, numbers):
    """Lines for the probes of these ids, in the order of `numbers`."""
    return "".join("%5d %10s %17s %33s %s\n" % (number, *probes[number - 1]) for number in numbers)


def matching(probes, description, glob):
    """The ids of the probes that a description (ast.ProbeDesc) stands for, as dtrace orders them: the
    latest first.  glob(pattern, text) -> bool."""
    parts = (description.provider, description.module, description.function, description.name)
    found = [
        number for number, probe in enumerate(probes, 1) if all(glob(part, text) for part, text in zip(parts, probe))
    ]
    return found[::-1]


def listing(descriptions, probes, glob):
    """(text, messages): the list for the descriptions, or for all probes where there are none; a message
    for each description that stands for nothing."""
    if descriptions is None:
        return HEADING + rows(probes, range(1, len(probes) + 1)), []
    text, messages = HEADING, []
    for description in descriptions:
        numbers = matching(probes, description, glob)
        if not numbers:
            name = f"{description.provider}:{description.module}:{description.function}:{description.name}"
            messages.append(f"failed to match {name}: No probe matches description")
        text += rows(probes, numbers)
    return text, messages
