#!/bin/sh
# Installs what building and testing mpt needs and this machine lacks. Says nothing, and takes no time, when all is there.
# Debian 12 is the reference: its packages are enough. An older Meson is replaced by one in .venv; nothing else is touched.
set -eu
cd "$(dirname "$0")/.."

packages='g++ make ninja-build meson pkg-config python3 libboost-dev libboost-context-dev libboost-program-options-dev libfmt-dev libhwloc-dev libgtest-dev libbenchmark-dev'
check='cmake lld clang-16 libclang-rt-16-dev llvm-16 clang-tidy-16 clang-format-16 valgrind libmemkind0 python3-venv python3-dev' # what the lints, the consumers' tests and the sanitized builds use
case "${1:-all}" in
all) packages="$packages $check" ;;
build) ;;
*) echo "usage: tools/setup.sh [all | build]" >&2; exit 2 ;;
esac

missing() {
    have=" $(dpkg-query -W -f='${db:Status-Status}:${Package} ' $packages 2>/dev/null | tr '\n' ' ')"
    for p in $packages; do case "$have" in *" installed:$p "*) ;; *) printf '%s ' "$p" ;; esac; done
}

if command -v dpkg-query >/dev/null; then
    lack=$(missing)
    if [ -n "$lack" ]; then
        echo "installing: $lack"
        if [ "$(id -u)" = 0 ]; then as_root=''; else as_root='sudo'; fi
        export DEBIAN_FRONTEND=noninteractive
        # shellcheck disable=SC2086
        $as_root apt-get install -y -qq --no-install-recommends $lack >/dev/null 2>&1 ||
            { $as_root apt-get update -qq && $as_root apt-get install -y -qq --no-install-recommends $lack >/dev/null; } ||
            { echo "could not install: $lack" >&2; exit 1; }
    fi
else
    for tool in g++ ninja pkg-config python3; do
        command -v "$tool" >/dev/null || { echo "not Debian: please install $packages (or what your system calls them)" >&2; exit 1; }
    done
fi

# Meson 1.0 or newer. Debian's says its version through dpkg at once; asking meson itself takes half a second.
version=$(dpkg-query -W -f='${Version}' meson 2>/dev/null || true)
[ -x .venv/bin/meson ] && version=$(cat .venv/meson-version 2>/dev/null || echo 0)
[ -n "$version" ] || version=$(meson --version 2>/dev/null || echo 0)
case "$version" in
[1-9]*) ;;
*)
    echo "installing: meson in .venv"
    python3 -m venv .venv
    .venv/bin/pip install -q 'meson==1.0.1' ninja
    .venv/bin/meson --version >.venv/meson-version
    ;;
esac
