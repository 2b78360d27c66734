#!/bin/sh
# A private PostgreSQL in a directory of its own: pg.sh init DIR [SCALE], start DIR, stop DIR, bench DIR OPTION… (pgbench).
# Called by root, as in a guest, it runs as the user postgres.
set -e
PATH=$PATH:$(echo /usr/lib/postgresql/*/bin)
what=$1 dir=$2
shift 2
# A guest has no such user; any number but root's will do.
user=$(id -u postgres 2>/dev/null || echo 26)
# By its path: a busybox shell would run an applet of that name, which changes no user.
as() { if [ "$(id -u)" = 0 ]; then /usr/bin/setpriv --reuid "$user" --regid "$user" --clear-groups "$@"; else "$@"; fi; }
server() { as pg_ctl -D "$dir/data" "$@" >/dev/null; }
case $what in
init)
    mkdir -p "$dir"; [ "$(id -u)" != 0 ] || chown "$user:$user" "$dir"
    as initdb -D "$dir/data" --no-locale --wal-segsize=1 -A trust -U bench >/dev/null
    server -l "$dir/log" -o "-k $dir -h '' -c min_wal_size=2MB" -w start
    as createdb -h "$dir" -U bench bench
    as pgbench -h "$dir" -U bench -i -q -s "${1:-5}" bench
    server -m fast -w stop ;;
start)
    [ "$(id -u)" != 0 ] || chown -R "$user:$user" "$dir"
    server -l "$dir/log" -o "-k $dir -h ''" -w start ;;
stop) server -m fast -w stop ;;
bench) as pgbench -h "$dir" -U bench "$@" bench ;;
esac
