#!/bin/sh
# check.sh CMAKE BUILD_FOLDER CC: installs into a folder of its own and uses what is there.
set -e
cmake=$1; build=$2; cc=$3
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$cmake" --install "$build" --prefix "$dir/usr" >"$dir/install.log"

"$cmake" -S "$here/consumer" -B "$dir/b" -DCMAKE_PREFIX_PATH="$dir/usr" -DCMAKE_C_COMPILER="$cc" >"$dir/configure.log" || {
    cat "$dir/configure.log"; exit 1; }
"$cmake" --build "$dir/b" >"$dir/build.log" || { cat "$dir/build.log"; exit 1; }
"$dir/b/with_shared"
"$dir/b/with_static"

PKG_CONFIG_PATH=$(dirname "$(find "$dir/usr" -name clpallas.pc)")
export PKG_CONFIG_PATH
# The folder it was installed to differs from the one it was configured for, and pkg-config knows the former.
[ "$(pkg-config --variable=prefix clpallas)" = "$dir/usr" ] || { echo "clpallas.pc: wrong prefix"; exit 1; }
flags=$(pkg-config --cflags --libs clpallas)
libdir=$(pkg-config --variable=libdir clpallas)
# shellcheck disable=SC2086
"$cc" "$here/consumer/main.c" -o "$dir/with_pkg_config" $flags -Wl,-rpath,"$libdir"
"$dir/with_pkg_config"

kernels=$(pkg-config --variable=kerneldir clpallas)
"$dir/usr/bin/clpallas" run "$kernels/elementwise.plk:add" --on interp -i x=iota:3 -i y=ones:3 | grep -F '[1. 2. 3.]'
