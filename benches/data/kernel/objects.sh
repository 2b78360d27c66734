#!/bin/sh
# The objects of some folders of a kernel, each function and each variable in a section of its own, for
# `cargo xtask bench kernel -- --calls` and `-- --changed`: code then differs only where a function does.
#
#   objects.sh TREE OUT CONFIG FOLDER …
#
# CONFIG is added to the small configuration of `vm build`. TREE stays as it is; OUT takes about 100 MB.
set -eu
tree=$(realpath "$1") out=$(realpath -m "$2") config=$(realpath "$3")
shift 3
small=$(realpath "$(dirname "$0")/../../../crates/vm/src/kernel")
export KBUILD_BUILD_TIMESTAMP=2026-01-01 KBUILD_BUILD_USER=u KBUILD_BUILD_HOST=h
mkdir -p "$out"
make -C "$tree" O="$out" tinyconfig > "$out/config.log"
cd "$out"
"$tree/scripts/kconfig/merge_config.sh" -m -O . .config "$small/small.config" "$small/small-x86_64.config" "$config" \
    >> config.log
make -C "$tree" O="$out" olddefconfig >> config.log
make -C "$tree" O="$out" -j"$(nproc)" prepare
make -C "$tree" O="$out" -j"$(nproc)" KCFLAGS='-ffunction-sections -fdata-sections' "$@"
