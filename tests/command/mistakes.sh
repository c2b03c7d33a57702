#!/bin/sh
# mistakes.sh COMMAND: what the command says of slips: what was expected, what was given, and where.
. "$(dirname "$0")/outside.sh"

cat > k.plk <<'END'
kernel twice<b = 4>(in x: f32[N] block [b] at (i), out o: f32[N] block [b] at (i))
grid (i = cdiv(N, b)) { o[...] = 2 * x[...]; }

kernel both(scalar s: f32, in x: f32[N], out o: f32[N] block [1] at (i), out p: f32[N] block [1] at (i))
grid (i = N) { o[...] = s * x[i]; p[...] = o[...]; }

kernel table<b = 2>(prefetch rows: i32[N], in x: f32[M, N] block [_, b] at (rows[i], 0), out o: f32[N, b] block [_, b] at (i, 0))
grid (i = N)
require b % 2 == 0
{ o[...] = x[...]; }
END
on="--on interp"

# A misspelt generator is taken for a file that there is not.
for source in rnadn:4 rnadn rnadn:4,7 rnadn,7; do
    expect 1 "x: expected a file, or one of randn, rand, zeros, ones, iota with :512x256 behind it; there is no file $source; did you mean randn?" \
        -- run k.plk:twice $on -i x=$source
done
expect 1 "there is no file normal:4" -- run k.plk:twice $on -i x=normal:4
case $out in *"did you mean"*) wrong "normal is near nothing: $out" ;; esac
expect 1 "x: ./rnadn: No such file or directory" -- run k.plk:twice $on -i x=./rnadn
expect 1 "x: ones.npz: No such file or directory" -- run k.plk:twice $on -i x=ones.npz

# Names come with those that there are, and the nearest.
expect 2 "there is no command rnu; did you mean run?" -- rnu k.plk
expect 2 "run: there is no option --verfy; did you mean --verify?" -- run k.plk:twice --verfy
expect 2 "there is no option --shuffles; clpallas run --help" -- run k.plk:twice --shuffles 3
expect 1 "there is no file matmull, and there is no standard kernel matmull; did you mean matmul?" -- run matmull
expect 1 "parameters:1:1: error: add has no parameter" -- run add -p nonesuch=1
expect 1 "--dim: there is no dim M in twice; it has N" -- run k.plk:twice $on --dim M=4
expect 1 "--box: there is no axis row in twice; it has i" -- run k.plk:twice $on -i x=ones:4 --box row=0:1
expect 1 "--trace: there is no axis row in twice; it has i" -- show k.plk:twice -i x=ones:4 --trace row=0
expect 1 "-i: there is no array rwos in table; it has rows, x, o; did you mean rows?" -- run k.plk:table $on -i rwos=ones:4

for dashes in - --; do expect 2 "there is no option ${dashes}verfy; did you mean --verify?" -- run k.plk:twice ${dashes}verfy; done
expect 2 "there is no option -x; clpallas run --help" -- run k.plk:twice -x
expect 2 "there is no row interp-sofmax; did you mean interp-softmax?" -- bench interp-sofmax
expect 1 "--of: there is no written operand x in twice; it has o" -- check k.plk:twice $on -i x=ones:4 --svg t.svg --of x
expect 1 "add has no parameter \`c\`; there is T, b" -- emit add -p c=1
expect 1 "parameters:1:3: error: unknown dtype \`f33\`; did you mean \`f32\`?" -- emit add -p T=f33
expect 1 "unknown dtype \`float\`; there is bool, i8, " -- emit add -p T=float
expect 2 "-i: expected NAME=SOURCE, got =ones:4" -- run k.plk:twice -i =ones:4

# Options that would say nothing.
expect 2 "run: --schedule is the shape of OpenCL code" -- run k.plk:twice $on --schedule simt -i x=ones:4
for command in check tune roofline; do
    expect 2 "$command: --schedule is the shape of OpenCL code" -- $command k.plk:twice $on --schedule vector -i x=ones:4
done
expect 2 "bench: --schedule is the shape of OpenCL code" -- bench $on --schedule vector interp-programs
CLPALLAS_DEVICE=interp; export CLPALLAS_DEVICE
expect 2 "run: --schedule is the shape of OpenCL code" -- run k.plk:twice --schedule simt -i x=ones:4
unset CLPALLAS_DEVICE
expect 0 "[2. 2. 2. 2.]" -- run k.plk:twice $on --schedule auto -i x=ones:4
expect 2 "--schedule is of what --nest and --cl show" -- emit k.plk:twice --ir --schedule simt
expect 2 "--checked is of what --nest and --cl show" -- emit k.plk:twice --plan --checked
expect 2 "--for is of what --nest and --cl show" -- emit k.plk:twice --for gpu
expect 0 "simt" -- emit k.plk:twice $on --cl --schedule simt
expect 2 "--for and --on are two devices" -- emit k.plk:twice --cl --for gpu $on
expect 2 "--on is the interpreter" -- check k.plk:twice $on --only races,device -i x=ones:4
expect 2 "--on is the interpreter" -- check k.plk:twice $on --also device -i x=ones:4
expect 2 "--on is the interpreter" -- check k.plk:twice $on --bisect -i x=ones:4
expect 2 "--shuffles is of the check \`orders\`" -- check k.plk:twice --only races --shuffles 2 -i x=ones:4
expect 2 "--seed is of the check \`orders\`" -- check k.plk:twice --only races --seed 2 -i x=ones:4
expect 0 "" -- check k.plk:twice $on --only races --also orders --shuffles 2 -i x=ones:4
expect 2 "--schedule is of the check \`device\`" -- check k.plk:twice --only proofs --schedule simt -i x=ones:4
expect 2 "which always checks" -- run k.plk:twice $on --checked -i x=ones:4
expect 2 "--tuned: no parameter with a \`tune\` list is left open" -- run k.plk:twice --tuned -i x=ones:4
expect 2 "--tuned: no parameter with a \`tune\` list is left open" -- check k.plk:twice --tuned -i x=ones:4
expect 2 "--tuned and --box: a box of the grid has the defaults" -- run softmax --tuned --box i=0:1 -i x=ones:4x4
expect 2 "--tuned and --batch: a batch has the defaults" -- run softmax --tuned --batch x,y -i x=ones:4x4x4
expect 2 "--points: no parameter with a \`tune\` list is left open" -- roofline k.plk:twice --points 3 -i x=ones:4
for option in --tuned "--on interp" "--schedule simt" "-p T=f32"; do expect 2 "--list measures nothing" -- bench --list $option; done
expect 2 "--list measures nothing" -- bench --list --time 3
expect 0 "interp-softmax" -- bench --list interp-softmax
case $out in *interp-programs*) wrong "bench --list NAME lists others: $out" ;; esac
expect 2 "--on: it is given twice" -- run k.plk:twice $on --on interp -i x=ones:4
expect 2 "--order: it is given twice" -- run k.plk:twice $on --order forward --order=reverse -i x=ones:4
expect 0 "usage: clpallas run" -- run $on --schedule simt --help

# Blocks and conditions have their place in the text, with the parameters that they depend on.
expect 1 "k.plk:1:41: error: x: a dimension of the block is at least 1, got 0; b is 0
kernel twice<" -- run k.plk:twice $on -p b=0 -i x=ones:4
expect 1 "k.plk:9:9: error: table requires b % 2 == 0; N is 3, M is 2, b is 1
require b % 2 == 0
        ^" -- run k.plk:table $on -p b=1 -i rows=zeros:3 -i x=ones:2x3
expect 1 "k.plk:7:77: error: x: program (2,): block (2, 0) of [_, 2] lies outside the array [2, 3]
kernel table<" -- run k.plk:table $on -i rows=iota:3 -i x=ones:2x3
expect 3 "k.plk:7:77: x: program (2,): block (2, 0) of [_, 2] lies outside the array [2, 3]
kernel table<" -- check k.plk:table $on -i rows=iota:3 -i x=ones:2x3

# Files that do not hold what is wanted, or are no place to write to.
expect 0 "" -- run k.plk:twice $on -i x=ones:100 -o o=o.npy
head -c 200 o.npy > short.npy
expect 1 "x: short.npy: it ends early: expected 400 bytes of elements, got 72" -- run k.plk:twice $on -i x=short.npy
sed 's/<f4/<c8/' o.npy > complex.npy
expect 1 "x: complex.npy: its elements are of a type that kernels do not have: <c8" -- run k.plk:twice $on -i x=complex.npy
sed 's/<f4/>f4/' o.npy > big.npy
expect 1 "x: big.npy: its bytes are in big-endian order" -- run k.plk:twice $on -i x=big.npy
printf 'PK\003\004 and so on' > o.npz
expect 1 "x: o.npz: it is an archive of files (np.savez): expected one array (np.save)" -- run k.plk:twice $on -i x=o.npz
expect 1 "nowhere/o.npy: cannot be written: No such file or directory" -- run k.plk:twice $on -i x=ones:4 -o o=nowhere/o.npy
expect 2 "-o: o.npy is given to o and to p" -- run k.plk:both $on -i x=ones:4 -s s=1 -o o=o.npy -o p=o.npy
expect 2 "-o: ./new.npy is given to o and to p" -- run k.plk:both $on -i x=ones:4 -s s=1 -o o=new.npy -o p=./new.npy
expect 0 "" -- run k.plk:both $on -i x=ones:4 -s s=1 -o o=/dev/null -o p=/dev/null
expect 1 "s: expected a value of dtype f32: -s s=..." -- run k.plk:both $on -i x=ones:4

[ "$n_failed" -eq 0 ] || { echo "$n_failed failed"; exit 1; }
