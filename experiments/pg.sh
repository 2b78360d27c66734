#!/bin/sh
# A private PostgreSQL in a directory of its own: pg.sh init|start|stop DIR. It runs as the user postgres if called by
# root.
set -e
PATH=$PATH:$(echo /usr/lib/postgresql/*/bin)
dir=$2
as() { if [ "$(id -u)" = 0 ]; then setpriv --reuid postgres --regid postgres --clear-groups "$@"; else "$@"; fi; }
case $1 in
init)
    mkdir -p "$dir"; [ "$(id -u)" != 0 ] || chown postgres "$dir"
    as initdb -D "$dir/data" -A trust -U bench >/dev/null
    as pg_ctl -D "$dir/data" -l "$dir/log" -o "-k $dir -h ''" -w start >/dev/null
    as createdb -h "$dir" -U bench bench
    as pgbench -h "$dir" -U bench -i -q -s 5 bench
    as pg_ctl -D "$dir/data" -m fast -w stop >/dev/null ;;
start) as pg_ctl -D "$dir/data" -l "$dir/log" -o "-k $dir -h ''" -w start >/dev/null ;;
stop)  as pg_ctl -D "$dir/data" -m fast -w stop >/dev/null ;;
esac
