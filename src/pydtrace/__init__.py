"""The tracer: D compiler, engines, sinks, and the commands `pydtrace` and `pyusdt`.  Traced programs import `pyusdt` only."""


def _check_pyusdt() -> None:
    """Refuse a package pyusdt that is not ours: the index has another project of this name, and what
    pip installs or removes last replaces files of the first."""
    cause: Exception | None = None
    try:
        package = __import__("pyusdt._core")  # as a statement it is a circle for type checkers
        if getattr(package, "MARK", None) == package._core.MARK:
            return
    except ImportError as error:
        if error.name == "pyusdt._core" and not isinstance(error, ModuleNotFoundError):
            raise  # ours, which says itself what it lacks
        cause = error
    except AttributeError as error:  # an extension _core without a MARK
        cause = error
    raise ImportError(
        "the package pyusdt that is installed here is another project's, or is damaged: "
        "`pip uninstall pyusdt pydtrace`, then install pydtrace",
        name="pyusdt",
    ) from cause


_check_pyusdt()
