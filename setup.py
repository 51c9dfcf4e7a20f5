"""Builds the two extensions: pyusdt._core (the probes, in every traced process) and pydtrace._tracer (the tracer's side).

Everything else about the package stands in pyproject.toml.  In the environment:
    PYUSDT_DEBUG=1              no optimisation, assertions on
    PYUSDT_SANITIZE=address,undefined
    PYUSDT_COVERAGE=1           gcov's instrumentation
    PYUSDT_REQUIRE_PROBES=1     fail where USDT probe sites can not be built, instead of going without
    PYUSDT_NO_PROBES=1          go without; the embedded engine works regardless
    PYUSDT_ONLY_CORE=1          pyusdt._core alone, which is what a traced program needs
    PYUSDT_SITES=dtrace         on Linux: sites by dtrace(1), as macOS, FreeBSD and illumos have them (c/generators/build_sites.py)
    DTRACE=PATH                 the dtrace that makes them
"""

import os
import re
import subprocess
import sys
from glob import glob
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

sys.path.insert(0, str(Path(__file__).resolve().parent / "c" / "generators"))
import build_sites
import generate_build

# The folders of the C core that each side is made of.
TARGET = ["target", "shared"]
TRACER = [
    "session",
    "events",
    "discovery",
    "consumer",
    "recording",
    "kernel",
    "pystack",
    "attach",
    "bpf",
    "bpf/helpers",
    "format",
    "shared",
]

DTRACE = os.environ.get("DTRACE", "dtrace")
SOURCE, HEADER = "c/generated/user_trace_dtrace.d", "c/generated/user_trace_dtrace.h"


def on(name: str) -> bool:
    return os.environ.get(name, "") not in ("", "0")


def core_files(folders: list[str]) -> list[str]:
    return sorted(path for folder in folders for path in glob(f"c/{folder}/*.c"))


def dtrace_sites() -> "build_sites.Way | None":
    """How dtrace(1) makes the probe sites, or None: they are our own (Linux), or there are none."""
    if on("PYUSDT_NO_PROBES") or (
        sys.platform == "linux" and os.environ.get("PYUSDT_SITES") != "dtrace"
    ):
        return None
    way = build_sites.way()
    failed = (
        build_sites.make_header(DTRACE, SOURCE, HEADER)
        if way
        else f"no way to make them on {sys.platform}"
    )
    if failed and on("PYUSDT_REQUIRE_PROBES"):
        raise SystemExit(f"PYUSDT_REQUIRE_PROBES: no USDT probe sites: {failed}")
    if failed:
        print(f"setup.py: building without USDT probe sites: {failed}", file=sys.stderr)
    return None if failed else way


def flags() -> tuple[list[str], list[str]]:
    """Options of the compiler and of the linker."""
    compile_args = [
        "-std=gnu11",
        "-fvisibility=hidden",
        "-Wall",
        "-fno-omit-frame-pointer",
    ]  # ustack() goes through it
    link_args = []
    if (
        sys.platform == "linux"
    ):  # the first call of a function of libc's, as others', takes no stack for finding it: spare_stack.c
        link_args += ["-Wl,-z,now"]
    if on("PYUSDT_DEBUG"):
        compile_args += ["-O0", "-g", "-UNDEBUG"]
    if os.environ.get("PYUSDT_SANITIZE"):
        option = "-fsanitize=" + os.environ["PYUSDT_SANITIZE"]
        compile_args += [option, "-g"]
        link_args += [option]
    if on("PYUSDT_COVERAGE"):
        compile_args += ["--coverage", "-O0", "-UNDEBUG"]
        link_args += ["--coverage"]
    for name, macro in (
        ("PYUSDT_REQUIRE_PROBES", "PYUSDT_REQUIRE_SITES"),
        ("PYUSDT_NO_PROBES", "PYUSDT_NO_SITES"),
    ):
        if on(name):
            compile_args.append(f"-D{macro}=1")
    return compile_args, link_args


def extensions(way: "build_sites.Way | None") -> list[Extension]:
    compile_args, link_args = flags()
    macros = [("CYTHON_USE_MODULE_STATE", "1")]  # sub-interpreters
    headers = (
        glob("c/**/*.h", recursive=True)
        + glob("include/*")
        + glob("src/pyusdt/include/*")
        + glob("src/pyusdt/_core_c/**/*.h", recursive=True)
        + glob("src/py*/*.p[xy][di]")
    )
    common = {
        "include_dirs": ["include", "c", "src/pyusdt", "src/pydtrace", "src/pyusdt/include"],
        "depends": sorted(headers),
        "extra_compile_args": compile_args,
        "extra_link_args": link_args,
    }
    ours = sorted(glob("src/pyusdt/_core_c/**/*.c", recursive=True))
    libraries = ["dl", "m"] if sys.platform == "linux" else []  # dlopen(), before glibc 2.34; log()
    if way:
        compile_args += way.compile_args
        libraries += way.libraries
        macros.append(tuple(build_sites.MACRO.split("=")))
    made = [
        Extension(
            "pyusdt._core",
            ["src/pyusdt/_core.pyx", *ours, *core_files(TARGET), "c/pystack/cpython_offsets.c"],
            libraries=libraries,
            define_macros=macros,
            **common,
        )
    ]
    if not on("PYUSDT_ONLY_CORE"):
        tracer = ["src/pydtrace/_tracer.pyx", *core_files(TRACER)]
        made.append(Extension("pydtrace._tracer", tracer, **common))
    return made


def generate() -> None:
    """Everything that is made before a compiler runs; see c/generators/."""
    for script in sorted(glob("c/generators/generate*.py")):
        options = (
            [
                *("--stub", "src/pyusdt/_core.pyi"),
                *("--python", "src/pydtrace/program/user_trace.py"),
                *("--docs", "docs/reference/probes.md"),
            ]
            if script == "c/generators/generate_user_trace.py"
            else []
        )
        subprocess.run([sys.executable, script, *options], check=True)


class Build(build_ext):
    """build_ext that knows what the generated headers are needed for, and lets dtrace(1) see the objects of _core."""

    way: "build_sites.Way | None" = None

    def finalize_options(self) -> None:
        super().finalize_options()
        for extension in self.extensions:
            extension.depends = [*extension.depends, *sorted(glob("c/generated/*"))]

    def build_extension(self, extension: Extension) -> None:
        link = self.compiler.link_shared_object
        if self.way and extension.name == "pyusdt._core":
            made = os.path.join(self.build_temp, "user_trace_dtrace.o")

            def link_with_probes(objects, *args, **options):
                link(
                    build_sites.make_object(DTRACE, self.way, SOURCE, made, objects),
                    *args,
                    **options,
                )

            self.compiler.link_shared_object = link_with_probes
        try:
            super().build_extension(extension)
        finally:
            self.compiler.link_shared_object = link


class SourceDistribution(sdist):
    """sdist with the file COMMIT, as there is no git where it is built."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        super().make_release_tree(base_dir, files)
        Path(base_dir, "COMMIT").write_text(f"{generate_build.commit()}\n", encoding="ascii")


# PYUSDT_URL, where whoever publishes the wheel has the files of this tree: https://…/blob/main
URL = os.environ.get("PYUSDT_URL", "").rstrip("/")


def long_description():
    """README.md without its pictures; what leads to other files leads to PYUSDT_URL, or is plain text: a package index has neither."""
    with open("README.md", encoding="utf-8") as file:
        text = re.sub(r"(?m)^!\[[^]]*\]\([^)]*\)\n\n?", "", file.read())
    return re.sub(r"\[([^]]+)\]\((?!https?:)([^)]*)\)", rf"[\1]({URL}/\2)" if URL else r"\1", text)


def links():
    """What an index shows beside the description."""
    return (
        {
            "Source": URL,
            "Documentation": f"{URL}/docs/README.md",
            "Changelog": f"{URL}/CHANGELOG.md",
        }
        if URL
        else {}
    )


os.chdir(Path(__file__).resolve().parent)
generate()
Build.way = dtrace_sites()
setup(
    ext_modules=cythonize(extensions(Build.way), build_dir="build/cython"),
    cmdclass={"build_ext": Build, "sdist": SourceDistribution},
    project_urls=links(),
    long_description=long_description(),
    long_description_content_type="text/markdown",
)
