#!/bin/sh
# Work for kernel workers: cold reads of a compressed image (erofs on a loop device) and buffered writes with fsync.
#   kworker.sh init DIR          makes the image, once (needs mkfs.erofs of erofs-utils)
#   kworker.sh start DIR N       mounts it with cold caches, and starts N burners per CPU
#   kworker.sh work DIR          reads all of it, then writes and syncs
#   kworker.sh stop DIR          ends the burners and unmounts
# SCHEDLAB names the binary that runs the burners, if it is not in PATH. Needs root.
set -e
dir=$2
case $1 in
init)
    mkdir -p "$dir/tree" "$dir/mount"
    # Text that compresses to a third or so: 32 files of 2 MB.
    for n in $(seq 32); do seq "$((n * 7919))" "$((n * 7919 + 290000))" >"$dir/tree/$n"; done
    mkfs.erofs -zlz4hc "$dir/image" "$dir/tree" >/dev/null
    rm -r "$dir/tree"
    sync ;;
start)
    dd if="$dir/image" iflag=nocache count=0 status=none
    mount -t erofs -o loop,ro "$dir/image" "$dir/mount"
    burners=$(($3 * $(nproc)))
    if [ "$burners" -gt 0 ]; then
        "${SCHEDLAB:-schedlab}" bench "burn:$burners,duration=1h" >/dev/null 2>&1 &
        echo $! >"$dir/burners"
        sleep 0.3
    fi ;;
work)
    cat "$dir"/mount/* >/dev/null
    for n in 1 2 3 4 5 6 7 8; do
        dd if=/dev/zero of="$dir/written" bs=64k count=16 conv=fsync status=none
    done ;;
stop)
    if [ -e "$dir/burners" ]; then kill "$(cat "$dir/burners")" || true; rm "$dir/burners"; fi
    umount "$dir/mount"
    rm -f "$dir/written" ;;
esac
