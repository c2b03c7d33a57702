#!/bin/sh
# exports.sh NM LIBRARY HEADER...: what the library exports must be what the public headers declare, no more, no less.
export LC_ALL=C
nm=$1; library=$2
shift 2
declared=$(cat "$@" | grep -v '^ \*' | grep -o 'CLP_API.*' | grep -o 'clp_[a-z0-9_]* *(' | tr -d ' (' | sort -u)
exported=$("$nm" -D --defined-only "$library" | awk '$2 == "T" || $2 == "D" || $2 == "B" || $2 == "R" { sub(/@.*/, "", $3); print $3 }' | sort -u)
status=0
for name in $declared; do
    echo "$exported" | grep -qx "$name" || { echo "declared but not exported: $name"; status=1; }
done
for name in $exported; do
    echo "$declared" | grep -qx "$name" || { echo "exported but not declared: $name"; status=1; }
done
[ -n "$declared" ] || { echo "no declarations found"; status=1; }
exit $status
