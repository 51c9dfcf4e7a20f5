# In the oracle's chroot: what dtrace and pydtrace say of scripts that include one header each.
#
#   headers.sh PYDTRACE COUNT FOLDER      COUNT headers in an order that is the same each time; FOLDER: for the scripts
#
# A line each: the header, what dtrace said of it, what pydtrace said (the first line of each), tabs between; headers that gcc
# does not take by themselves are left out.
pydtrace=$1 count=$2 folder=$3
cd /usr/include || exit 1
find . -name '*.h' ! -path './c++/*' | sed 's/^\.\///; s/^[a-z0-9_]*-linux-gnu\///' | sort -u --random-source=<(yes) -R | while read -r header; do
    [ "$count" -gt 0 ] || break
    echo "#include <$header>" | gcc -fsyntax-only -xc - 2>/dev/null || continue
    count=$((count - 1))
    script=$folder/script.d
    printf '#include <%s>\nBEGIN { exit(0); }\n' "$header" >"$script"
    theirs=$(dtrace -xsyslibdir=/opt/dlib -e -C -s "$script" 2>&1 </dev/null; echo "exit $?")
    ours=$("$pydtrace" -e -C -s "$script" 2>&1 </dev/null; echo "exit $?")
    printf '%s\t%s\t%s\n' "$header" "$(head -1 <<<"$theirs")" "$(head -1 <<<"$ours")"
done
