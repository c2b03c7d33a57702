#!/bin/sh
# roofline.sh COMMAND: `clpallas roofline` from outside. What does not depend on the machine is compared as a whole.
. "$(dirname "$0")/outside.sh"
CLPALLAS_CACHE_DIR=$dir/kept
export CLPALLAS_CACHE_DIR

# same NAME: standard input is what $out has to be.
same() {
    cat > want
    printf '%s\n' "$out" > got
    diff -u want got || wrong "$1 differs"
}

cat > k.plk <<'END_OF_KERNEL'
kernel mm<bm = 8, bn = 4>(in x: f32[M, K] block [bm, 16] at (i, k) pad 0, in y: f32[K, N] block [16, bn] at (k, j) pad 0,
    out z: f32[M, N] block [bm, bn] at (i, j), scratch acc: f32[bm, bn])
grid (i = cdiv(M, bm), j = cdiv(N, bn), k = cdiv(K, 16) arbitrary)
tune bm in [4, 8, 16], bn in [2, 4, 8]
{ if (first(k)) { acc[...] = 0; } acc[...] += dot(x[...], y[...]); if (last(k)) { z[...] = 2 * acc[...]; } }

kernel pick(prefetch idx: i32[N], in x: f32[R, 4] block [_, 4] at (idx[i], 0), out o: f32[N, 4] block [_, 4] at (i, 0))
grid (i = N) { o[...] = x[...]; }

kernel small<b = 2>(in x: f32[N] block [b] at (i), out o: f32[N] block [b] at (i))
grid (i = cdiv(N, b)) require b < 4 tune b in [2, 4] { o[...] = x[...] + 1; }
END_OF_KERNEL

on="--on interp --time 2"
mm="roofline k.plk:mm $on --dim M=20,K=40,N=9"

# Work and traffic; what is measured is left out.
expect 0 "mm: grid (i = 3, j = 3, k = 3 arbitrary), 27 programs, on the interpreter" -- $mm --points 0
out=$(printf '%s\n' "$out" | sed -n '/^  operand /,/^  intensity/p')
same "the table of operands" <<'END_OF_TABLE'
  operand               block        comes         read      written   every element once
  x                     512 B           27     9.38 KiB          0 B             3.12 KiB
  y                     256 B           27     4.22 KiB          0 B             1.41 KiB
  z                     128 B            9          0 B        720 B                720 B
  all                                                       14.3 KiB             5.23 KiB

  intensity     2.82 operations a byte when every element moves once, 1.03 as blocks come
END_OF_TABLE

# The same as JSON, peaks and times left out.
expect 0 '"time_s": {"min": ' -- $mm --points 0 --json --quiet
out=$(printf '%s\n' "$out" | sed 's/, "peak": [^}]*//g; s/, "intensity": .*//')
same "JSON" <<'END_OF_JSON'
{"kernel": "mm", "device": "the interpreter, on the host", "programs": 27, "operations": [{"dot": true, "dtype": "f32", "acc": "f32", "ops": 14400}, {"dot": false, "dtype": "f32", "acc": "f32", "ops": 720}], "operands": [{"operand": "x", "block": 512, "fetches": 27, "read": 9600, "written": 0, "once": 3200}, {"operand": "y", "block": 256, "fetches": 27, "read": 4320, "written": 0, "once": 1440}, {"operand": "z", "block": 128, "fetches": 9, "read": 0, "written": 720, "once": 720}], "float_ops": 15120, "int_ops": 0, "bytes": 5360, "streamed_bytes": 14640, "exact": true
END_OF_JSON

# Block sizes: all points where they are few, those near the kernel's own where they are not; -p leaves the others.
points() { out=$(printf '%s\n' "$out" | sed -n 's/^  \(b[mn]=[0-9]*\(, bn=[0-9]*\)\{0,1\}\) .*/\1/p'); }
expect 0 "With other block sizes:" -- $mm
points
same "all points" <<'END_OF_POINTS'
bm=4, bn=2
bm=4, bn=4
bm=4, bn=8
bm=8, bn=2
bm=8, bn=4
bm=8, bn=8
bm=16, bn=2
bm=16, bn=4
bm=16, bn=8
END_OF_POINTS
expect 0 "With other block sizes (4 of 9 points of the lists):" -- $mm --points 4
points
same "near points" <<'END_OF_POINTS'
bm=8, bn=4
bm=16, bn=4
bm=8, bn=8
bm=4, bn=4
END_OF_POINTS
expect 0 "With other block sizes:" -- $mm -p bm=16
points
same "points of one list" <<'END_OF_POINTS'
bn=2
bn=4
bn=8
END_OF_POINTS

# What is set before -p stays set: matmul_nt is matmul with tb=true.
expect 0 '"points": [{"params": "bm=128, bn=128, bk=128", "programs": 1' -- roofline matmul_nt $on --dim M=8,N=9,K=10 --points 1 --json
expect 0 '"points": [{"params": "bm=8, bn=4", "programs": 54' -- $mm --batch x,z --dim B=2 --points 1 --json

# A point that cannot be had says why, and the others are there.
expect 0 "small requires b < 4" -- roofline k.plk:small $on -i x=iota:8
expect 0 '"params": "b=4", "error": "k.plk:11:31: small requires b < 4; N is 8, b is 4"' -- roofline k.plk:small $on -i x=iota:8 --json

# Made-up data are said; prefetched data are read from what is given: rows 0 0 1 1 come twice.
expect 0 "clpallas: x: made up: randn" -- roofline k.plk:pick $on --dim N=4,R=3
expect 0 '"operand": "x", "block": 16, "fetches": 1, "read": 16,' -- roofline k.plk:pick $on --dim N=4,R=3 --json
expect 0 "" -- run k.plk:small --on interp -p b=2 -i x=zeros:2 -o o=ones.npy
expect 0 '"operand": "x", "block": 16, "fetches": 4, "read": 64,' -- roofline k.plk:pick $on --dim R=4 -i idx=iota:4 --json
expect 0 "attainable    " -- roofline k.plk:pick $on --dim N=4,R=3 --quiet
case $out in *"operand  "*|*"made up"*) wrong "--quiet says too much: $out" ;; esac

# A box counts what it runs, a batch all its members.
expect 0 '"programs": 9, ' -- $mm --box i=1:2 --points 0 --json
expect 0 '"programs": 54, ' -- $mm --batch x,z --dim B=2 --points 0 --json

# The picture.
expect 0 "" -- $mm --svg r.svg
grep -q "mm on the interpreter" r.svg && grep -q "</svg>" r.svg && grep -q "bm=16, bn=8: " r.svg && grep -q "operations a byte" r.svg ||
    wrong "r.svg is not whole"
expect 0 "" -- roofline k.plk:pick $on --dim N=4,R=3 --svg p.svg
grep -q "nothing is computed" p.svg || wrong "p.svg has something to compute"
if command -v xmllint >/dev/null; then xmllint --noout r.svg p.svg || wrong "no XML"; fi

# Peaks are kept, and measured anew on request.
n=$(ls kept | wc -l)
[ "$n" -gt 0 ] || wrong "no peaks are kept"
peak() { "$clpallas" $mm --points 0 --json --quiet "$@" | sed 's/.*"peak_bytes_s": \([^,]*\),.*/\1/'; }
before=$(peak); again=$(peak)
[ "$before" = "$again" ] || wrong "a kept peak changed: $before, $again"
anew=$(peak --measure); after=$(peak)
[ "$anew" = "$after" ] || wrong "what was measured anew is not kept: $anew, $after"
[ "$anew" != "$before" ] || wrong "--measure measured nothing: $anew"

# What is wrong with a call.
expect 2 "expected FILE" -- roofline
expect 2 "--points: expected a number from 0 to 1000, got many" -- $mm --points many
expect 2 "--time: expected a number of runs, got 0" -- roofline k.plk:mm --time 0
expect 1 "mm: nothing runs: the grid is (i = 0, j = 3, k = 3)" -- roofline k.plk:mm $on --dim M=0,K=40,N=9
expect 0 "nothing ran: the grid has no program" -- run k.plk:mm $on -i x=zeros:0x40 -i y=zeros:40x9
expect 0 '"programs": 0, "time_s": ' -- run k.plk:mm $on -i x=zeros:0x40 -i y=zeros:40x9 --json
expect 1 "the size of dim N is not known" -- roofline k.plk:mm $on --dim M=20,K=40
expect 1 "nowhere/r.svg" -- $mm --svg nowhere/r.svg

[ "$n_failed" -eq 0 ] || { echo "$n_failed failed"; exit 1; }
