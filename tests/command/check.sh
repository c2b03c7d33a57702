#!/bin/sh
# check.sh COMMAND: the command from outside: exit statuses, what stands where, files that appear whole.
. "$(dirname "$0")/outside.sh"

cat > two.plk <<'END'
kernel double<b = 4>(in x: i32[N] block [b] at (i), out o: i32[N] block [b] at (i))
grid (i = cdiv(N, b)) { o[...] = 2 * x[...]; }

kernel number<b = 2>(out o: i32[M, N] block [b, b] at (i, j))
grid (i = cdiv(M, b), j = cdiv(N, b)) { o[...] = 10 * i + j; }

kernel scaled(scalar s: f32, inout x: f32[N] block [8] at (i))
grid (i = cdiv(N, 8)) { x[...] = s * x[...]; }

kernel pick(prefetch idx: i32[N], in x: i32[R, 4] block [_, 4] at (idx[i], 0), out o: i32[N, 4] block [_, 4] at (i, 0))
grid (i = N) { o[...] = x[...]; }

kernel rest(in x: i32[8 - N], out o: i32[N] block [1] at (i)) grid (i = N) { o[...] = i; }
kernel less(in x: i32[-(N - 3) * 2 + 9], out o: i32[N] block [1] at (i)) grid (i = N) { o[...] = i; }
kernel pairs(in x: i32[2 * (N + 1)], in y: i32[N], out o: i32[N] block [1] at (i)) grid (i = N) { o[...] = i; }

kernel talk(out o: i32[N] block [1] at (i)) grid (i = N) { print("program {}", i); o[...] = i; }
END
echo 'kernel bad(in x: f32[N] block [8] at (i)) grid (i = cdiv(N, 8)) { x[...] = 0; }' > bad.plk

expect 0 "clpallas 0." -- --version
expect 0 "usage" -- run --help
expect 0 "devices" -- --help
for command in show emit devices; do expect 0 "usage: clpallas $command" -- $command --help; done
expect 2 "no command" -- dance
expect 2 "no option" -- run two.plk:double --dance
expect 2 "expected FILE" -- run
expect 2 "expected" -- run two.plk:double -i
expect 2 "auto, vector or simt" -- run two.plk:double --schedule fast
expect 0 "interp" -- devices
expect 0 '"usable": true' -- devices --json
expect 0 "interp-programs" -- bench --list
expect 0 '"work": "interp-programs"' -- bench interp-programs --on interp --time 2 --json
expect 2 "there is no row nothing" -- bench nothing
expect 0 "interp-softmax" -- bench interp-softmax interp-programs --on interp --time 1 --svg bars.svg
grep -q "</svg>" bars.svg || wrong "no whole bars.svg"
if "$clpallas" devices --json | grep -q '"device": "cl:0", "usable": true'; then
    expect 0 '"peer": "the binary by hand"' -- bench process launches --time 1 --json
fi

on="--on interp"
expect 0 "[ 0  2  4  6  8 10]" -- run two.plk:double $on -i x=iota:6
expect 0 "[0 2 4]" -- run two.plk:double $on -p b=1 -i x=iota:3 -o o
expect 0 "[0 2 4]" -- run two.plk:double $on --order reverse -p b=1 -i x=iota:3
expect 0 "[[ 0  0  1]" -- run two.plk:number $on --dim M=3,N=3
expect 0 "[0.  0.5" -- run two.plk:scaled $on -s s=0.5 -i x=iota:9
expect 0 "[0 1 2]" -- run two.plk:rest $on -i x=ones:5
expect 0 "[0 1 2 3]" -- run two.plk:less $on -i x=ones:7
expect 1 "x: dimension 0 is -(N - 3) * 2 + 9: no N gives 6" -- run two.plk:less $on -i x=ones:6
expect 1 "x: dimension 0 is 8 - N: no N gives 9" -- run two.plk:rest $on -i x=ones:9
expect 1 "x: dimension 0 is 2 * (N + 1): no N gives 7" -- run two.plk:pairs $on -i x=ones:7 -i y=ones
expect 1 "x: expected size 2 * (N + 1) = 8 in dimension 0, got 6" -- run two.plk:pairs $on -i x=ones:6 -i y=ones:3
expect 0 "[0 1]" -- run two.plk:pairs $on -i x=ones:6 -i y=ones
expect 0 "program 2" -- run two.plk:talk $on --dim N=3 --quiet
expect 0 "" -- run two.plk:double $on -i x=iota:6 -o o=o.npy
expect 0 "[ 0  4  8 12 16 20]" -- run two.plk:double $on -i x=o.npy
expect 1 "expected rank 2" -- run two.plk:pick $on -i x=o.npy -i idx=zeros:1
expect 1 "expected f32, got i32" -- run two.plk:scaled $on -s s=1 -i x=o.npy
expect 1 "No such file or directory" -- run two.plk:double $on -i x=none.npy
expect 1 "there is no array y" -- run two.plk:double $on -i y=iota:3
expect 1 "there is no output x" -- run two.plk:double $on -i x=iota:3 -o x
expect 1 "expected an array: -i x=x.npy" -- run two.plk:double $on
expect 1 "dim M is not known" -- run two.plk:number $on --dim N=3
expect 1 "there is no dim Q" -- run two.plk:number $on --dim Q=3
expect 1 "expected a value of dtype f32: -s s=" -- run two.plk:scaled $on -i x=iota:3
expect 1 "x is an input" -- run bad.plk $on -i x=iota:3
expect 1 "none.plk" -- run none.plk
expect 1 "" -- run nonesuch
expect 1 "" -- run two.plk:none $on
expect 0 '"time_s": {"min"' -- run two.plk:double $on -i x=iota:6 --time 3 --json
expect 0 "there is nothing to compare with" -- run two.plk:double $on -i x=iota:6 --verify

# However often a kernel runs, what it prints is printed once; and a kernel of standard input is read once.
expect 0 "program 1" -- run two.plk:talk $on --dim N=2 -o o --verify --time 3
[ "$(echo "$out" | grep -c program)" -eq 2 ] || wrong "printed more than once: $out"
out=$("$clpallas" run - $on -i x=iota:3 -o o --verify <bad.plk 2>&1)
case $out in *"x is an input"*) ;; *) wrong "run - says: $out" ;; esac
out=$("$clpallas" run -:double $on -i x=iota:3 -o o --verify <two.plk 2>&1)
case $out in *"[0 2 4]"*"nothing to compare with"*) ;; *) wrong "run - says: $out" ;; esac
expect 0 "GFLOP/s" -- run matmul $on -i x=randn:8x8 -i y=randn:8x8 --time 1

expect 0 "(0, 1)" -- show two.plk:number --dim M=4,N=4
expect 0 "*" -- show matmul --dim M=256,N=256,K=256
expect 0 "0:4" -- show two.plk:pick -i idx=zeros:2 -i x=iota:3x4
expect 0 "" -- show matmul --dim M=256,N=256,K=256 --svg m.svg
grep -q "</svg>" m.svg || wrong "no whole m.svg"
expect 0 "kernel double" -- emit two.plk:double --ir
expect 0 "" -- emit two.plk:double --plan
expect 0 "" -- emit two.plk:double --output d.plk
expect 0 "[0 2 4]" -- run d.plk $on -i x=iota:3

expect 0 "[[[ 0  2  4  6]" -- run two.plk:double $on -i x=iota:1x2x4 --batch x,o --batch x,o
expect 0 "[ 6  8 10]]" -- run two.plk:double $on -i x=iota:2x3 -i o=ones:2x3 -p b=1 --batch x,o --box batch=1:2
expect 0 "block [_, 2, 2] at (batch, i, j)" -- emit two.plk:number --batch o
expect 0 "(1, 0, 1)" -- show two.plk:number --batch o --dim M=4,N=4,B=2
expect 1 "o is written and not among its operands" -- run two.plk:double $on -i x=iota:3 --batch x
expect 1 "there is no operand z; there is x, o" -- emit two.plk:double --batch x,z
expect 2 "expected NAME" -- emit two.plk:double --batch

# Checked code says what the interpreter says.
outside="two.plk:10:68: error: x: program (3,): block (3, 0) of [_, 4] lies outside the array [3, 4]
kernel pick("
expect 1 "$outside" -- run two.plk:pick $on -i idx=iota:6 -i x=iota:3x4
if "$clpallas" devices --json | grep -q '"device": "cl:0", "usable": true'; then
    for schedule in vector simt; do
        expect 1 "$outside" -- run two.plk:pick --on cl --schedule $schedule --checked -i idx=iota:6 -i x=iota:3x4
        expect 0 "-2147483648]]" -- run two.plk:pick --on cl --schedule $schedule -i idx=iota:6 -i x=iota:3x4
        expect 0 "n_faults" -- emit two.plk:pick --cl --schedule $schedule --checked
    done
fi

# The dtypes that docs/kernels.md promises. matmul_nt and the like are matmul with parameters set.
products="matmul matmul_nt matmul_tn matmul_tt matmul_dx matmul_dy"
others="softmax logsumexp layer_norm rms_norm map copy add axpy transpose row_sum row_max row_cumsum convert gather_rows scatter_rows"
for T in f16 bf16 f32; do for k in $products attention $others; do expect 0 "kernel ${k%_[nt][nt]}(" -- emit $k $on -p T=$T; done; done
for k in $others; do expect 0 "kernel $k" -- emit $k $on -p T=f64; done
for T in f8e4m3 f8e5m2; do for k in $products attention; do expect 0 "kernel ${k%_[nt][nt]}(" -- emit $k $on -p T=$T; done; done

expect 1 'unknown function `rellu`; did you mean `relu`?' -- emit map -p act=rellu
# What is asked for twice, of nothing, or too large.
expect 2 "-i: x is given twice: iota:3 and iota:4" -- run two.plk:double $on -i x=iota:3 -i x=iota:4
expect 2 "--dim: N is given twice" -- run two.plk:number $on --dim M=1,N=2 --dim N=3
expect 2 "expected NAME[=FILE], got o=" -- run two.plk:double $on -i x=iota:3 -o o=
expect 2 "--svg: expected FILE, got nothing" -- show two.plk:number --dim M=4,N=4 --svg ""
expect 2 "expected FILE[:KERNEL], got :x" -- run :x
expect 2 "expected FILE[:KERNEL], got two.plk:" -- run two.plk:
: > empty.npy
expect 1 "empty.npy: the file is empty" -- run two.plk:double $on -i x=empty.npy
expect 1 "it is a directory" -- run two.plk:double $on -i x=.
expect 1 "x: expected a size of 0 to 2147483647 in dimension 0, got 3000000000" -- run two.plk:double $on -i x=zeros:3000000000
expect 1 "N: expected a size of 0 to 2147483647, got 3000000000" -- run two.plk:number $on --dim M=2,N=3000000000
expect 1 "o: i32[2000000000, 2000000000] takes 1.6e+10 GB, the memory here is" -- run two.plk:number $on --dim M=2000000000,N=2000000000

# A scalar is of its dtype, or is refused.
expect 1 "s: 1e99 does not fit f32" -- run two.plk:scaled $on -s s=1e99 -i x=ones:3
expect 1 "s: -1e400 does not fit f32" -- run two.plk:scaled $on -s s=-1e400 -i x=ones:3
expect 0 "[-inf -inf]" -- run two.plk:scaled $on -s s=-inf -i x=ones:2
expect 0 "[nan nan]" -- run two.plk:scaled $on -s s=nan -i x=ones:2
expect 1 "-s: s is an array with --batch: -i s=..." -- run two.plk:scaled $on --batch s,x -s s=2 -i x=ones:2x3
expect 0 "[2. 2. 2.]]" -- run two.plk:scaled $on --batch s,x -i s=iota:3 -i x=ones:3x3
expect 1 "-i: s is a scalar: -s s=..." -- run two.plk:scaled $on -i s=ones: -i x=ones:3

# Made-up arrays are each another one; a seed that is given is taken.
cat > minus.plk <<'END'
kernel minus(in x: f32[4], in y: f32[4], out o: f32[4]) grid () { o[...] = x[...] - y[...]; }
END
expect 0 "o: f32" -- run minus.plk $on -i x=randn:4 -i y=randn
case $out in *"[0. 0. 0. 0.]"*) wrong "two made-up arrays are equal: $out" ;; esac
expect 0 "[0. 0. 0. 0.]" -- run minus.plk $on -i x=randn:4,5 -i y=randn:4,5
expect 0 "[0. 0. 0. 0.]" -- run minus.plk $on -i x=randn:4,1 -i y=randn

# A fault of a run comes with the line of source.
echo 'kernel far(in x: i32[N], out o: i32[N] block [1] at (i)) grid (i = N) { o[...] = x[i + 1]; }' > far.plk
expect 1 "far.plk:1:82: error: x: program (2,): index (3,) lies outside the ref [3]
kernel far(" -- run far.plk $on -i x=iota:3

# Two things that exclude each other.
expect 2 "--cl and --ir are two stages" -- emit matmul --cl --ir
expect 0 "simt schedule" -- emit matmul --cl --for gpu
expect 0 "vector schedule" -- emit matmul --cl --for cpu
expect 2 "expected cpu or gpu, got fpga" -- emit matmul --cl --for fpga
expect 2 "--trace and --svg are two things" -- show two.plk:number --dim M=4,N=4 --trace first --svg t.svg

# Tables need no content of arrays, but of prefetched ones: this one would take minutes to make up.
said=$( (ulimit -t 4; "$clpallas" show two.plk:scaled --dim N=100000000 -s s=1 --box i=0:3 --quiet) 2>&1) ||
    wrong "show makes up what it does not read: $said"
expect 0 "    0  (*)" -- show two.plk:pick --dim N=2,R=3
case $out in *"clpallas: x: made up"*) wrong "show says that it made up x: $out" ;; esac

# Where compiled programs are kept.
mkdir -m 700 cache open && chmod 777 open
kept=${CLPALLAS_CACHE_DIR-}
CLPALLAS_CACHE_DIR=$dir/cache; export CLPALLAS_CACHE_DIR
expect 0 "cache    $dir/cache" -- devices
expect 0 '"cache": {"folder": "' -- devices --json
CLPALLAS_CACHE_DIR=$dir/open
expect 0 "cache    nothing is kept: $dir/open: others may write to it" -- devices
expect 0 '"cache": {"folder": null' -- devices --json
CLPALLAS_CACHE_DIR=$kept      # as good as unset where it is empty

# Where output is to go is looked at before the kernel runs.
for place in nowhere/o.npy . "$dir/none/"; do
    expect 1 "$place: " -- run two.plk:talk $on --dim N=3 -o "o=$place"
    case $out in *program*) wrong "ran although $place cannot be written" ;; esac
done

# The schedule that was used, and why there is no device.
expect 0 '"schedule": "interp"' -- run two.plk:double $on -i x=iota:6 --json
OCL_ICD_VENDORS=$dir/none; export OCL_ICD_VENDORS
expect 0 "cl       cannot be used: " -- devices
unset OCL_ICD_VENDORS

expect 0 "number: grid (i = 2, j = 2), 4 programs" -- show two.plk:number --dim M=4,N=4
expect 0 "" -- show two.plk:number --dim M=4,N=4 --svg n.svg
grep -q "number: grid (i = 2, j = 2), 4 programs" n.svg || wrong "n.svg has no heading"
echo 'kernel w(in x: f32[N] block [element(6, pad = 1)] at (4 * i), out o: f32[N] block [4] at (i)) grid (i = cdiv(N, 4)) { o[...] = x[1:5]; }' > w.plk
expect 0 "block [element(6, pad = 1)]" -- show w.plk --dim N=8
expect 0 "" -- run two.plk:double $on -i x=iota:6 --verify --quiet
[ -z "$out" ] || wrong "--verify --quiet says: $out"

# Nothing is left beside a file that could not be written.
expect 1 "o.npy" -- run two.plk:double $on -i x=iota:6 -o o=nowhere/o.npy
[ -z "$(ls ./*.part 2>/dev/null)" ] || wrong "a part was left"

[ "$n_failed" -eq 0 ] || { echo "$n_failed failed"; exit 1; }
