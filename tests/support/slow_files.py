"""The test files that are slow and rarely fail: `make test` leaves them to `make test-more`, and CI runs both.

A file is here that took 15 s or more, all its tests together, with three workers on two busy processors.
"""

from pathlib import Path

from .paths import TESTS

# folder: the files test_NAME.py
_NAMES = {
    "api": """
        interruptible_wait notebook parquet_readers
    """,
    "bpf": """
        bytecode_cases random_bytecode superinstructions
    """,
    "c": """
        build_version code_places core_aarch64 forked_tracer hostile_files in_target_count
        kill_points rings rundir_attacks watcher
    """,
    "dlang": """
        compiler_limits percentiles
    """,
    "erlang": """
        erlang_app_providers erlang_application erlang_attach erlang_instrument erlang_probes erlang_vm
    """,
    "fetch": """
        fetch_program
    """,
    "integration": """
        alerts ask attach_builds attach_kills attach_leftovers attach_servers attach_stress bad_input command_signals docs
        dtrace_sites end_to_end finished_page formatter_oracle heap hosts
        instrument_frameworks instrument_work keep_and_wait metrics otlp probe_sites
        profile_samples pydtrace_oracle python_vm_coexistence python_vm_idle python_vm_injection
        python_vm_no_events pyusdt_serve relays serve_policy shutdown spans
        task_variables_asyncio timeline tracers values watcher_rights web wheels why_causes
    """,
    "kernel": """
        aggregation_key_limit bpf_python_unwinder current_task kernel_engine kernel_stacks linker
        select_engine system_probes
    """,
    "spin": """
        models
    """,
    "stacks": """
        dump forks_in_c hostile_cpython native_unwinder profile_command
    """,
    "unit/pyusdt": """
        providers
    """,
}
SLOW_FILES = frozenset(
    Path(TESTS) / folder / f"test_{name}.py"
    for folder, names in _NAMES.items()
    for name in names.split()
)
