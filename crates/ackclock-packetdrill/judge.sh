#!/bin/sh
# Has packetdrill judge ackclock's engine: runs each script in a process and a network namespace of its own, and
# prints a table of verdicts. Exit code 1: a script failed.
#
#     judge.sh PROGRAM SCRIPT...
#
# PROGRAM is packetdrill, SCRIPT a file or a folder of files. Environment:
#   ACKCLOCK_LIBRARY    the library [default: target/release/libackclock_packetdrill.so of this repository]
#   ACKCLOCK_DIALECT    linux, freebsd or plain [default: linux]
#   ACKCLOCK_DEPARTURES 1: where the dialect's host departs from an RFC, the engine does as well
#   ACKCLOCK_MTU        the largest packet, as --mtu of the program [default: 1500]
#   ACKCLOCK_STACK      the stack that is judged [default: the dialect's]
#   PACKETDRILL_FLAGS   further flags of the program, such as --tolerance_usecs=1000

if [ $# -lt 2 ]; then
    echo "usage: judge.sh PROGRAM SCRIPT..." >&2
    exit 2
fi
root=$(cd "$(dirname "$0")/../.." && pwd)
library=$(realpath "${ACKCLOCK_LIBRARY:-$root/target/release/libackclock_packetdrill.so}") || exit 2
program=$(realpath "$1") || exit 2
shift
for file in "$library" "$program"; do
    if [ ! -f "$file" ]; then
        echo "judge.sh: there is no $file" >&2
        exit 2
    fi
done

# A namespace keeps settings of scripts from the machine. Scripts configure the device tun0, which is not used here.
export library program PACKETDRILL_FLAGS
one='
ip tuntap add dev tun0 mode tun 2>/dev/null
ip link set tun0 up 2>/dev/null
ulimit -l unlimited 2>/dev/null
LD_PRELOAD=$library exec timeout 60 "$program" --so_filename="$library" $PACKETDRILL_FLAGS "$1"'

namespace="unshare -n"
[ "$(id -u)" = 0 ] || namespace="unshare -rn"

passed=0
failed=0
list=$(mktemp) && said=$(mktemp) || exit 2
trap 'rm -f "$list" "$said"' EXIT
find "$@" -name '*.pkt' | LC_ALL=C sort > "$list"
while IFS= read -r script; do
    # Scripts name files beside them.
    if (cd "$(dirname "$script")" && $namespace sh -c "$one" sh "$(basename "$script")") > "$said" 2>&1 < /dev/null
    then
        passed=$((passed + 1))
        printf 'ok    %s\n' "$script"
    else
        failed=$((failed + 1))
        # The line that names the script, and what a code block raised, which stands at the end.
        why=$(grep -m 1 "^$(basename "$script"):" "$said"; grep 'Error' "$said" | tail -n 1)
        [ -n "$why" ] || why=$(tail -n 1 "$said")
        why=$(echo "$why" | tr '\n' ' ')
        printf 'FAIL  %s  %s\n' "$script" "$why"
    fi
done < "$list"
printf '%s passed, %s failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
