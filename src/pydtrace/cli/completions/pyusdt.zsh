#compdef pydtrace pyusdt
# Completion of pydtrace and pyusdt for zsh. In ~/.zshrc, behind compinit: source <(pyusdt completion zsh)
_pyusdt_complete() {
    local -a offers
    offers=("${(@f)$(pyusdt complete zsh "${(j: :)words[1,CURRENT]}" 2>/dev/null)}")
    if [[ -n "${offers[*]}" ]]; then
        _describe -V offer offers
    else
        _files
    fi
}
compdef _pyusdt_complete pydtrace pyusdt
