#!/usr/bin/env bash
# Writes a history of 64 patches for a tree of Linux 6.1, to be bisected: each adds a function that nobody calls to one of eight
# files, so that every kernel is another; patch K instead adds the cost of patches/planted-cost.patch to each enqueue of a fair
# task, LOOPS times two instructions (docs/evidence/bisect.md).
#
#   experiments/planted-history.sh TREE DIR K LOOPS
set -euo pipefail
[ $# = 4 ] || { sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 2; }
tree=$1 out=$2 planted=$3 loops=$4
cost=$(dirname "$0")/patches/planted-cost.patch
files=(kernel/sched/fair.c kernel/sched/core.c kernel/sched/rt.c fs/pipe.c net/unix/af_unix.c kernel/futex/waitwake.c mm/mmap.c fs/read_write.c)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for file in "${files[@]}"; do
    mkdir -p "$work"/{a,b}/"$(dirname "$file")"
    cp "$tree/$file" "$work/a/$file"
    cp "$tree/$file" "$work/b/$file"
done
mkdir -p "$out"
for number in $(seq 64); do
    file=${files[$((number % ${#files[@]}))]}
    if [ "$number" = "$planted" ]; then
        file=kernel/sched/fair.c
        sed "s/\\\$200/\$$loops/" "$cost" | patch --silent --no-backup-if-mismatch -d "$work/b" -p1
    else
        printf '\nstatic noinline __used unsigned long history_%d(unsigned long a)\n{\n\treturn a * %d + (a >> 3);\n}\n' \
            "$number" "$number" >> "$work/b/$file"
    fi
    name=$(printf '%04d-history.patch' "$number")
    (cd "$work" && diff -u --label "a/$file" --label "b/$file" "a/$file" "b/$file" || [ $? = 1 ]) > "$out/$name"
    cp "$work/b/$file" "$work/a/$file"
done
