#!/bin/sh
# A small kernel history with real commits, for `schedlab kernel related` and `cargo xtask bench kernel -- --related`:
# two point releases of Debian's linux-source as tagged commits, then each patch of Debian's source package `linux`, and
# of its RT series, with the message and the author that it has. Only files in the folders that the patches touch.
#
#   kernel-history.sh HISTORY OLDER DEBIAN_OF_OLDER NEWER DEBIAN_OF_NEWER
#
# OLDER and NEWER are linux-source-6.1 unpacked, DEBIAN_… the folder `debian` of the source package of that version.
# HISTORY must not exist. A patch that Debian took from a commit gets the line by which a stable series says so.
set -eu
history=$1 older=$2 older_debian=$3 newer=$4 newer_debian=$5
export GIT_AUTHOR_NAME=Debian GIT_AUTHOR_EMAIL=debian@example.org GIT_COMMITTER_NAME=h GIT_COMMITTER_EMAIL=h@example.org
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null LC_ALL=C
mkdir "$history"
git init -q "$history"
work=$history/.git

series() { sed 's/ *#.*//; /^$/d' "$1/series" | sed "s|^|$1/|"; }
every_patch() { for debian; do series "$debian/patches"; series "$debian/patches-rt"; done; }
every_patch "$older_debian" "$newer_debian" | xargs sed -n 's|^[-+]\{3\} [^/ ]*/\([^\t ]*\).*|\1|p' |
    sed 's|[^/]*$||; s|^$|.|' | sort -u > "$work/folders"

# A tree without Debian's patches becomes the next commit: its packages have them applied.
release() {
    (cd "$history" && git rm -rq --ignore-unmatch .)
    (cd "$1" && while read -r folder; do
        [ -d "$folder" ] && find "$folder" -maxdepth 1 -type f -print0
    done < "$work/folders" | tar -cf - --null -T -) | tar -xf - -C "$history"
    series "$2/patches" | tac | while read -r patch; do
        patch -d "$history" -Rp1 -sf --no-backup-if-mismatch -r - < "$patch"
    done
    version=$(sed -n 's/^\(VERSION\|PATCHLEVEL\|SUBLEVEL\) = //p' "$1/Makefile" | paste -sd.)
    git -C "$history" add -A
    git -C "$history" commit -qm "Linux $version"
    git -C "$history" tag "v$version"
}

one() {
    git mailinfo -b "$work/message" /dev/null < "$1" > "$work/head"
    head() { sed -n "s/^$1: //p" "$work/head"; }
    # As Debian names what it took: `Origin: https://git.kernel.org/linus/ID`, or the mail of `git format-patch`.
    origin=$(sed -n '/^---$/q; s/^Origin:.*\([0-9a-f]\{40\}\).*/\1/p; s/^From \([0-9a-f]\{40\}\) .*/\1/p' "$1" | sed q)
    subject=$(head Subject | sed 's/^ *\[[^]]*\] *//')
    { echo "${subject:-$(basename "$1" .patch)}"; echo; cat "$work/message"; } > "$work/whole"
    [ -z "$origin" ] || printf '\ncommit %s upstream.\n' "$origin" >> "$work/whole"
    patch -d "$history" -p1 -sf --no-backup-if-mismatch -r - < "$1" || { echo "left out: $1" >&2; }
    git -C "$history" add -A
    author="$(head Author) <$(head Email)>"
    [ "$author" != " <>" ] || author="Debian <debian@example.org>"
    if git -C "$history" commit -q --author "$author" -F "$work/whole"; then
        echo "$(basename "$1") $(git -C "$history" rev-parse HEAD)" >> "$work/patches"
    fi
}

release "$older" "$older_debian"
release "$newer" "$newer_debian"
{ series "$newer_debian/patches"; series "$newer_debian/patches-rt"; } | while read -r patch; do one "$patch"; done
wc -l < "$work/patches"
