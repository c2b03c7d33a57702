#!/bin/sh
# tune.sh COMMAND: parameters left open, from outside: `tune`, `--tuned`, and the file between them. On the interpreter, with a
# kernel that writes down what it was made with.
. "$(dirname "$0")/outside.sh"
mkdir -m 700 cache
CLPALLAS_CACHE_DIR=$dir/cache
CLPALLAS_DEVICE=interp
export CLPALLAS_CACHE_DIR CLPALLAS_DEVICE
unset CLPALLAS_CACHE
umask 022

cat > k.plk <<'END_OF_KERNEL'
kernel b<b = 1>(out o: i32[N] block [b] at (i)) grid (i = cdiv(N, b)) tune b in [4096] { if (i == 0) { print("b is {}", b); } o[...] = 7; }
kernel own<b = 1>(out o: i32[N] block [b] at (i)) grid (i = cdiv(N, b)) tune b in [4096] { o[...] = b; }
kernel row<b = 2>(in x: i32[N] block [b] at (0), out o: i32[N] block [b] at (0)) grid (i = 1) tune b in [4, 8, 6000, 0]
require N <= b { o[...] = x[...] + 1; }
kernel div<b = 1>(out o: i32[N] block [b] at (i)) grid (i = N / b) tune b in [4, 6000] { o[...] = 7; }
kernel none(out o: i32[N] block [4] at (i)) grid (i = cdiv(N, 4)) { o[...] = 4; }
END_OF_KERNEL

# 4096 programs of one element against a single one: whatever else the machine does, there is no doubt.
"$clpallas" tune k.plk:b --dim N=4096 --time 20 >table 2>errors || wrong "tune: status $?: $(cat errors)"
grep -q 'b=4096 (best)' table && grep -q 'b=1 (default)' table || wrong "tune: no such table: $(cat table)"
[ "$(wc -l <cache/tuned.jsonl)" -eq 1 ] && grep -q '"kernel": "b".*"dims": {"N": 4096}, "params": {"b": 4096}' cache/tuned.jsonl ||
    wrong "tune: not kept: $(cat cache/tuned.jsonl)"

"$clpallas" run k.plk:b --dim N=3500 --tuned >out || wrong "run --tuned: status $?"
grep -q '^b is 4096$' out || wrong "run --tuned: not what was kept: $(cat out)"
"$clpallas" run k.plk:b --dim N=3500 >out || wrong "run: status $?"
grep -q '^b is 1$' out || wrong "run: not the defaults: $(cat out)"
"$clpallas" run k.plk:b --dim N=3500 --tuned -p b=8 >out 2>errors
[ $? -eq 2 ] && grep -q 'no parameter with a `tune` list is left open' errors || wrong "run --tuned -p: $(cat out errors)"
"$clpallas" run k.plk:b --dim N=3500 --tuned --time 1 --json >out 2>errors || wrong "run --json: status $?"
grep -q '"params": "b=4096", "chosen_by": "tuned"' out || wrong "run --json: $(cat out)"
"$clpallas" run k.plk:b --dim N=3500 --tuned --time 1 >out
grep -q ', b=4096 (tuned)$' out || wrong "run --time: $(cat out)"
"$clpallas" check k.plk:b --dim N=3500 --tuned >out || wrong "check --tuned: status $?: $(cat out)"

"$clpallas" check k.plk:b --dim N=3500 --tuned --only memory --svg map.svg >out || wrong "check --svg --tuned: status $?: $(cat out)"
[ "$(grep -o '<title>.*</title>' map.svg)" = '<title>(0)</title>' ] || wrong "check --svg --tuned: another kernel than the launch's: $(grep title map.svg)"

# Where the defaults do not take a shape and another value does, that one is tried, kept and run; of what cannot run the table says why.
"$clpallas" tune k.plk:row --dim N=5000 --time 20 >table 2>errors || wrong "tune row: status $?: $(cat errors)"
grep -q 'b=6000 (best)$' table && grep -q 'b=2 (default): k.plk:4:9: row requires N <= b; N is 5000, b is 2$' table &&
    grep -q 'b=4: k.plk:4:9: row requires N <= b; N is 5000, b is 4$' table && grep -q 'b=0: k.plk:3:[0-9]*: error: .* at least 1, got 0; b is 0$' table ||
    wrong "tune row: no such table: $(cat table)"
"$clpallas" tune k.plk:div --dim N=5000 --time 20 >table 2>errors || wrong "tune div: status $?: $(cat errors)"
grep -q 'b=6000: div: nothing runs: the grid is (i = 0)$' table || wrong "tune div: no such table: $(cat table)"
"$clpallas" tune k.plk:own --dim N=4096 --time 20 >table 2>errors || wrong "tune own: status $?: $(cat errors)"
grep -q 'b=4096: its results depend on the parameters: o: element \[0\] is 4096, with b=1 it is 1$' table || wrong "tune own: no such table: $(cat table)"
"$clpallas" run k.plk:row -i x=iota:5000 --tuned --time 1 >out 2>&1 || wrong "run row --time: status $?: $(cat out)"
"$clpallas" check k.plk:row -i x=iota:5000 --tuned --svg map.svg >out 2>&1 || wrong "check row --svg: status $?: $(cat out)"
if "$clpallas" devices --json | grep -q '"device": "cl:0", "usable": true'; then
    "$clpallas" run k.plk:row -i x=iota:7 --on cl --time 1 >out 2>&1 && grep -q ', b=8 (model)$' out || wrong "run row --on cl: $(cat out)"
    "$clpallas" roofline k.plk:row -i x=iota:7 --on cl --points 0 --time 1 >out 2>&1 || wrong "roofline row: $(cat out)"
fi

# A line of no use is said, once, and the rest of the file does its work.
{ echo 'rubbish'; cat cache/tuned.jsonl; } >more && mv more cache/tuned.jsonl
"$clpallas" run k.plk:b --dim N=3500 --tuned >out 2>errors || wrong "a broken line: status $?"
grep -q '^b is 4096$' out || wrong "a broken line: the good one is lost: $(cat out)"
[ "$(cat errors)" = "clpallas: $dir/cache/tuned.jsonl:1: not used: it is no entry" ] || wrong "a broken line: $(cat errors)"

"$clpallas" tune k.plk:b --dim N=64 --json >out 2>errors || wrong "tune --json: status $?: $(cat errors)"
grep -q '^{"kernel": "b", .*"kept": true, "tries": \[$' out && grep -q '"params": "b=1", "rank": [12], "default": true, "best": .*"time_s": ' out ||
    wrong "tune --json: $(cat out)"
[ -z "$("$clpallas" tune k.plk:b --dim N=64 --quiet 2>&1)" ] || wrong "tune --quiet says something"

# expect STATUS WORDS OPTION...
expect() {
    status=$1
    words=$2
    shift 2
    "$clpallas" tune "$@" >out 2>errors
    got=$?
    [ $got -eq "$status" ] && grep -q "$words" errors || wrong "tune $*: status $got, not $status: $(cat errors)"
}
expect 1 'none: there is nothing to tune: no parameter with a `tune` list is left open' k.plk:none --dim N=4
expect 1 'b: there is nothing to tune' k.plk:b --dim N=4 -p b=2
expect 1 'b: nothing runs: the grid is (i = 0)' k.plk:b --dim N=0
expect 1 'a box of the grid has the defaults' k.plk:b --dim N=4 --box i=0:2
expect 2 'expected a number of seconds, got soon' k.plk:b --dim N=4 --time soon
expect 2 'expected a number of seconds, got -1' k.plk:b --dim N=4 --try -1

[ $n_failed -eq 0 ] || echo "$n_failed wrong"
exit $((n_failed > 0))
