# Completion of pydtrace and pyusdt for bash. In ~/.bashrc: source <(pyusdt completion bash)
_pyusdt_complete() {
    mapfile -t COMPREPLY < <(pyusdt complete bash "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
}
complete -o default -F _pyusdt_complete pydtrace pyusdt
