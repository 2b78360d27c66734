#!/bin/sh
# How much of a feature `schedlab kernel related` finds in a history that kernel-history.sh made of linux-source-6.1:
# for each row a commit (or a name), and the patches that belong to it. They were taken from what is written about the
# patches and not from their text: Debian's sections in `series`, the cover letters' numbering, the Fixes: lines.
#
#   kernel-history-related.sh HISTORY SCHEDLAB [OPTION …]
#
# OPTIONs are of `kernel related`, such as `--paths .`; with VERBOSE=1 each commit that is missed or too much is named.
set -eu
history=$1 schedlab=$2
shift 2
ids() { for glob; do awk -v glob="^$glob" '$1 ~ glob { print substr($2, 1, 12) }' "$history/.git/patches"; done | sort -u; }
every=0 all=0 right=0
while read -r asked expected; do
    case $asked in *-*) what=$(ids "$asked" | head -1) ;; *) what=$asked ;; esac
    found=$("$schedlab" kernel related "$what" --tree "$history" --range v6.1.187.. "$@" |
        sed -n 's/^\([0-9a-f]\{12\}\)  .*/\1/p' | sort -u)
    # What was asked for is no answer.
    wanted=$(ids $expected | grep -v "^$what" || true)
    found=$(echo "$found" | grep -v "^$what" || true)
    both=$(printf '%s\n%s\n' "$wanted" "$found" | sed '/^$/d' | sort | uniq -d | wc -l)
    w=$(echo "$wanted" | grep -c . || true) f=$(echo "$found" | grep -c . || true)
    echo "$asked: $both of $w found, $f answered"
    every=$((every + w)) all=$((all + f)) right=$((right + both))
    [ -z "${VERBOSE:-}" ] || printf '%s\n%s\n' "$wanted" "$found" | sed '/^$/d' | sort | uniq -u |
        while read -r id; do echo "   $id $(git -C "$history" log -1 --format=%s "$id")"; done
done <<'ROWS'
0005-net-Remove-the-obsolte-u64_stats_fetch_-_irq-users-d.patch 000[14-8].*obsol
0012-softirq 0012-softirq 0013-rcutorture 0014-tick 0015-softirq
0014-tick 0012-softirq 0013-rcutorture 0014-tick 0015-softirq
0019-printk 0019-printk 0020-printk 0021-serial 0022-printk
0032-sched 0032-sched 0033-x86 0034-x86 0035-entry 0036-arm 0037-powerpc 0038-arch
ARCH_SUPPORTS_RT 0010-x86 0011-x86 0043-ARM 0044-ARM64 0049-POWERPC
0004-net-mana 0003-net-mana 0004-net-mana 0005-net-mana 0006-net-mana 0007-net-mana 0008-net-mana 0009-net-mana 0010-net-mana 0011-net-mana 0012-net-mana 0035-net-mana 0048-net-mana
0015-net-mana 0015-net-mana 0022-net-mana 0040-net-mana
0020-net-mana 0017-net-mana 0018-net-mana 0019-net-mana 0020-net-mana 0036-net-mana 0032-net-mana 0046-net-mana
rxrpc-Fix rxrpc-
firmware_class-log firmware firmware_class radeon
efi-lock-down efi- mtd-disable arm64-add-kernel
KEYS-Make 0003-MODSIGN KEYS-Make trust-machine
intel-iommu-add-option intel-iommu-
ROWS
echo "recall $right of $every, precision $right of $all"
