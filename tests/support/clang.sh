#!/bin/sh
# Builds the library and the command with clang, warnings being errors. usage: clang.sh SOURCE BUILD OPENCL
set -e
if ! command -v clang >/dev/null; then
    echo "skipped: there is no clang here"
    exit 77
fi
cmake -S "$1" -B "$2" -G Ninja -DCMAKE_C_COMPILER=clang -DCLPALLAS_WERROR=ON -DCLPALLAS_OPENCL="$3" >/dev/null
cmake --build "$2"
