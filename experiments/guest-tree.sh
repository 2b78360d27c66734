#!/bin/sh
# Programs, each with the libraries it is linked to, and whole directories, in one directory for a guest, which has no
# files of the host's; busybox (busybox-static) is its /bin/sh:
#   experiments/guest-tree.sh DIR PROGRAM|DIRECTORY…     then   add = ["DIR:/"]   in [guest], or   vm run --add DIR:/
set -e
[ $# -ge 2 ] || { echo "usage: guest-tree.sh DIR PROGRAM|DIRECTORY…" >&2; exit 2; }
tree=$1
shift
busybox=$(command -v busybox) || { echo "guest-tree.sh: busybox is not installed; it is in busybox-static" >&2; exit 1; }
mkdir -p "$tree/bin"
cp "$busybox" "$tree/bin/sh"
for program; do
    if [ -d "$program" ]; then
        mkdir -p "$tree$program"
        cp -RL "$program/." "$tree$program"
        continue
    fi
    path=$(command -v "$program") || { echo "guest-tree.sh: $program is not installed" >&2; exit 1; }
    for file in "$path" $(ldd "$path" | grep -o '/[^ ]*'); do
        mkdir -p "$tree${file%/*}"
        cp -L "$file" "$tree$file"
    done
done
