#!/usr/bin/env bash
# Sees to it that what the build and the tests need is there: libclang for the SQL parser's bindings, PostgreSQL's
# clients and server for comparison, isolationtester; for `tests` a browser that opens the pages and
# Python, which types for psql; for `peers` a C++ compiler and strace. Installs it where it may, and says what to install elsewhere.
set -euo pipefail

missing=()
need() { # need PACKAGE TEST...
    local package=$1
    shift
    "$@" >/dev/null 2>&1 || missing+=("$package")
}

have_libclang() {
    [ -n "${LIBCLANG_PATH:-}" ] && return 0
    # Not libclang-cpp, which LLVM's own programs bring along.
    local folder name
    for folder in /usr/lib/llvm-*/lib /usr/lib/*-linux-gnu /usr/lib64 /usr/lib /usr/local/lib; do
        for name in "$folder"/libclang.so* "$folder"/libclang-[0-9]*.so*; do
            [ -e "$name" ] && return 0
        done
    done
    return 1
}

command -v cargo >/dev/null || {
    echo "setup: Rust is missing. Install it from your distribution or with rustup; version 1.95 or later is needed." >&2
    exit 1
}
need gcc command -v cc
need make command -v make
need libclang-dev have_libclang
need postgresql-client command -v pgbench
need postgresql-client command -v psql
need postgresql test -n "$(ls -d /usr/lib/postgresql/*/bin/initdb 2>/dev/null)"
need postgresql-server-dev-all test -n "$(ls /usr/lib/postgresql/*/lib/pgxs/src/test/isolation/isolationtester 2>/dev/null)"
have_browser() { command -v chromium || command -v chromium-browser || command -v google-chrome; }
if [ "${1:-}" = tests ]; then
    need chromium have_browser
    need python3 command -v python3
fi
if [ "${1:-}" = peers ]; then
    need g++ command -v c++
    need strace command -v strace
fi

[ ${#missing[@]} -eq 0 ] && exit 0
packages=$(printf '%s\n' "${missing[@]}" | sort -u)
version=$(apt-cache show postgresql 2>/dev/null | sed -n 's/^Version: \([0-9]*\)+.*/\1/p' | head -1 || true)
packages=$(echo "$packages" | sed "s/postgresql-server-dev-all/postgresql-server-dev-${version:-15}/" | tr '\n' ' ')
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "setup: installing $packages"
    export DEBIAN_FRONTEND=noninteractive
    # A server that starts by itself is not wanted: the tests start their own.
    mkdir -p /etc/postgresql-common
    [ -e /etc/postgresql-common/createcluster.conf ] || echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf
    apt-get update -qq
    # shellcheck disable=SC2086
    apt-get install -y -qq --no-install-recommends $packages >/dev/null
else
    echo "setup: something the build or the tests use is missing. On Debian or Ubuntu, as root:" >&2
    echo "    apt-get install $packages" >&2
    echo "The build itself needs only a C compiler and libclang; tests whose client is missing are skipped, aloud." >&2
    have_libclang || exit 1
fi
