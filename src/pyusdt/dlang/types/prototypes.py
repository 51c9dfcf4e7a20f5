"""What D calls its own: the names of its functions and variables, with their prototypes.

In: a name.  Out: its kind and prototype, whether pyusdt has it or not: so a program that
uses a part of D that is not there yet is told so, and is not told that the name is unknown.
What pyusdt has of them, and how, say the rows of builtins/.

A prototype is written as dtrace prints it: `@` takes anything, `[type]` may be left out,
`...` stands for any number of further arguments.
"""

from ...data import types as t

FUNCTION, AGGREGATING, ACTION = "function", "aggregating function", "tracing function"

_functions = """
alloca void *(size_t); basename string(const char *); bcopy void(void *, void *, size_t)
cleanpath string(const char *); copyin void *(uintptr_t, size_t)
copyinstr string(uintptr_t, [size_t]); copyinto void(uintptr_t, size_t, void *)
copyout void(void *, uintptr_t, size_t); copyoutstr void(char *, uintptr_t, size_t)
d_path string(struct path *); ddi_pathname string(void *, int64_t); dirname string(const char *)
getmajor dev_t(dev_t); getminor dev_t(dev_t); htonl uint32_t(uint32_t); htonll uint64_t(uint64_t)
htons uint16_t(uint16_t); index int(const char *, const char *, [int]); inet_ntoa string(ipaddr_t *)
inet_ntoa6 string(struct in6_addr *, [int]); inet_ntop string(int, void *)
link_ntop string(int, void *); lltostr string(int64_t, [int]); msgdsize size_t(mblk_t *)
msgsize size_t(mblk_t *); mutex_owned int(struct mutex *); mutex_owner struct task_struct *(struct mutex *)
mutex_type_adaptive int(struct mutex *); mutex_type_spin int(struct mutex *)
ntohl uint32_t(uint32_t); ntohll uint64_t(uint64_t); ntohs uint16_t(uint16_t)
progenyof int(pid_t); rand int(); rindex int(const char *, const char *, [int])
rw_iswriter int(rwlock_t *); rw_read_held int(rwlock_t *); rw_write_held int(rwlock_t *)
speculation int(); strchr string(const char *, char); strjoin string(const char *, const char *)
json string(const char *, const char *); strlen size_t(const char *); strrchr string(const char *, char)
strstr string(const char *, const char *)
strtok string(const char *, const char *); strtoll int64_t(const char *, [int])
substr string(const char *, int, [int]); term string(uintptr_t, ...); tolower string(const char *)
toupper string(const char *)
"""
_aggregating = """
avg void(@); count void(); llquantize void(@, int32_t, int32_t, int32_t, int32_t, ...)
lquantize void(@, int32_t, int32_t, ...); max void(@); min void(@); quantize void(@, ...)
stddev void(@); sum void(@)
"""
_actions = """
breakpoint void(); chill void(int); clear void(@); commit void(int); denormalize void(@)
discard void(int); exit void(int); freopen void(@, ...); ftruncate void()
func _symaddr(uintptr_t); jstack stack([uint32_t], [uint32_t]); mod _symaddr(uintptr_t)
normalize void(@, uint64_t); panic void(); pcap void(void *, int); print void(@); printa void(@, ...)
printf void(string, ...); raise void(int); return void(int); setopt void(const char *, [const char *])
speculate void(int); stack stack([uint32_t]); stop void(); sym _symaddr(uintptr_t)
system void(@, ...); trace void(@); tracemem void(@, size_t, [size_t]); trunc void(@, [int64_t])
uaddr _usymaddr(uintptr_t); ufunc _usymaddr(uintptr_t); umod _usymaddr(uintptr_t)
ustack stack([uint32_t], [uint32_t]); usym _usymaddr(uintptr_t)
"""

# Variables of D that have no row in builtins/ (those that have are found there).
OTHER_VARIABLES = frozenset(
    ["caller", "cwd", "epid", "errno", "execargs", "ipl", "ppid", "pwd", "root", "stackdepth",
     "ucaller", "ustackdepth", "vtimestamp", "zonename"]
)
# Types that D takes from the kernel or from its library files.
OTHER_TYPES = frozenset(
    ["bufinfo_t", "conninfo_t", "devinfo_t", "fileinfo_t", "in6_addr_t", "ip6_t", "ipinfo_t",
     "ipv4info_t", "ipv6info_t", "iscsiinfo_t", "lockinfo_t", "lwpsinfo_t", "mblk_t", "pktinfo_t", "psinfo_t",
     "tcpinfo_t", "tcplsinfo_t", "tcpsinfo_t", "udpinfo_t", "udpsinfo_t", "vnode_t"]
)
OTHER_ARRAYS = frozenset(("args", "regs", "uregs"))


def _read(text, kind):
    found = {}
    for entry in text.replace("\n", ";").split(";"):
        name, _, proto = entry.strip().partition(" ")
        if name:
            found[name] = (kind, proto)
    return found


FUNCTIONS = {**_read(_functions, FUNCTION), **_read(_aggregating, AGGREGATING), **_read(_actions, ACTION)}


class Prototype:
    """result: types.Type; params: list of types.Type, None for `@`; required: how many must be
    given; varargs: whether more than len(params) may be."""

    __slots__ = ("result", "params", "required", "varargs")

    def __init__(self, text):
        result, _, inner = text[:-1].partition("(")
        self.result = _type(result)
        self.params, self.varargs, optional = [], False, 0
        for word in inner.split(", ") if inner else ():
            if word == "...":
                self.varargs = True
            elif word == "@":
                self.params.append(None)
            else:
                optional += word[0] == "["
                self.params.append(_type(word.strip("[]")))
        self.required = len(self.params) - optional


def _type(text):
    if text in ("void", "string"):
        return t.VOID if text == "void" else t.STRING
    text = text.replace("const ", "")  # as dtrace prints it
    if text.endswith("*"):
        return t.Pointer(_type(text[:-1].rstrip()))
    if text.startswith("struct "):
        return t.Record("struct", text[len("struct "):])
    found = t.BASIC.get(text) or t.TYPEDEFS.get(text)
    return found or t.Type(text, 8)


_parsed = {}


def prototype(name):
    """The Prototype of one of FUNCTIONS."""
    found = _parsed.get(name)
    if found is None:
        found = _parsed[name] = Prototype(FUNCTIONS[name][1])
    return found
