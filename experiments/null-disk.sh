#!/bin/sh
# /dev/slow in a guest of Linux 6.12 (module null_blk): its requests end by a timer, 20 us after they were submitted, so
# who waits for one sleeps as with a fast NVMe drive. It keeps no data.
set -e
[ ! -b /dev/slow ] || exit 0
mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
mkdir /sys/kernel/config/nullb/slow
cd /sys/kernel/config/nullb/slow
echo 2 > irqmode
echo 20000 > completion_nsec
echo 1024 > size
echo 1 > power
[ -b /dev/slow ] || { echo "null-disk.sh: this kernel gives the disk another name" >&2; exit 1; }
