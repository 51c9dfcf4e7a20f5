# Completion of pydtrace and pyusdt for fish. In config.fish: pyusdt completion fish | source
complete -c pyusdt -n __fish_use_subcommand -f
for command in pydtrace pyusdt
    complete -c $command -a '(pyusdt complete fish (commandline -cp) 2>/dev/null)'
end
