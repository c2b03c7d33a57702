#!/bin/sh
# checking.sh COMMAND: `clpallas check` and `clpallas show --trace` from outside: exit statuses, what is said, JSON, pictures.
. "$(dirname "$0")/outside.sh"

cat > two.plk <<'END'
kernel race(in x: i32[N] block [2] at (i), out o: i32[2])
grid (i = cdiv(N, 2)) { o[...] = x[...]; }

kernel sound<b = 4>(in x: f32[N] block [b] at (i), out o: f32[N] block [b] at (i))
grid (i = cdiv(N, b)) { o[...] = 2 * x[...]; }

kernel sums(in x: f32[R, C] block [1, 2] at (i, k), out o: f32[R] block [1] at (i), out p: f32[R] block [1] at (i), scratch s: f32[1])
grid (i = R, k = cdiv(C, 2) arbitrary)
{
    if (first(k)) { s[0] = 0; }
    var t = s[0];
    for (e in 0 .. 2) { t += x[0, e]; }
    s[0] = t;
    if (last(k)) { o[...] = t; p[...] = -t; }
}

kernel wraps(in x: i32[N] block [4] at (i), out o: i32[N] block [4] at (i))
grid (i = cdiv(N, 4)) { o[...] = x[...] * 2000000000 + 10 / x[...]; }
END
on="--on interp"

# Verdicts and statuses; inputs that nobody gave are made up, and that is said.
expect 3 "race: program (0,) writes element [0]" -- check two.plk:race $on -i x=iota:6
expect 3 "axis i would have to be \`arbitrary\`" -- check two.plk:race $on -i x=iota:6
expect 3 "two.plk:2:25:" -- check two.plk:race $on -i x=iota:6
expect 0 "x: made up: randn" -- check two.plk:sound $on --dim N=10
expect 1 "the size of dim N is not known" -- check two.plk:sound $on
expect 0 "" -- check two.plk:sums $on --dim R=3,C=4 --only races,memory,orders --shuffles 50 --seed 9
expect 0 "" -- check two.plk:race $on -i x=iota:6 --box i=1:2 --only races
expect 0 "" -- check two.plk:wraps $on -i x=iota:8
expect 3 "overflow" -- check two.plk:wraps $on -i x=iota:8 --also overflow
expect 3 "division-by-zero" -- check two.plk:wraps $on -i x=iota:8 --also overflow,division-by-zero
expect 3 "division-by-zero" -- check two.plk:wraps $on -i x=iota:8 --only division-by-zero
case $out in *overflow*) wrong "--only lets others in: $out" ;; esac
[ -z "$("$clpallas" check two.plk:sound $on -i x=iota:9 --quiet 2>&1)" ] || wrong "--quiet says something of a sound kernel"

# What is found on made-up data says so, to its end.
echo 'kernel put(in idx: i32[N], in x: f32[N], inout o: f32[N]) grid (i = N) { o[idx[i]] = x[i]; }' > put.plk
for quiet in --only=races --quiet; do
    expect 3 "found on arrays that were made up: idx = zeros, x = randn, o = randn; give your own with -i" -- check put.plk $on --dim N=4 $quiet
    expect 0 "" -- check put.plk $on -i idx=iota:4 $quiet
    case $out in *"found on arrays"*) wrong "nothing was found, and yet: $out" ;; esac
done
expect 3 '"made_up": ["x", "o"]' -- check put.plk $on -i idx=zeros:4 --json
expect 3 '"made_up": []' -- check put.plk $on -i idx=zeros:4 -i x=ones -i o=ones --json

# Arrays stay as they are.
"$clpallas" run two.plk:sound $on -i x=iota:6 -o o=x.npy && cp x.npy before.npy
expect 3 "" -- check two.plk:race $on -i o=zeros:2 -i x=iota:6
expect 0 "" -- check two.plk:sound $on -i x=x.npy
cmp -s x.npy before.npy || wrong "check changed x.npy"

# JSON: one object, alone on standard output.
out=$("$clpallas" check two.plk:race $on --dim N=6 --json 2>/dev/null)
for part in '"verdict": "faulty"' '"kind": "race' '"operand": "o"' '"first_element": [0]' '"elements": 2' '"programs": [[0], [1]]' \
    '"accesses": [{"line": 2, "column": 25}, {"line": 2, "column": 25}]' '"axis": "i"' '"message": "o: ' '"difference": {'; do
    case $out in *"$part"*) ;; *) wrong "check --json: expected $part in: $out" ;; esac
done
expect 0 '"findings": [], "dropped": 0' -- check two.plk:sound $on --dim N=6 --json

# The picture: who wrote what.
expect 3 "" -- check two.plk:race $on -i x=iota:6 --svg race.svg
grep -q "conflict; (2)" race.svg && grep -q "</svg>" race.svg || wrong "no conflict in race.svg"
expect 0 "" -- check two.plk:sums $on --dim R=3,C=4 --svg sums.svg --of p
grep -q "(2, 1)" sums.svg || wrong "sums.svg does not name who wrote last"
grep -q "conflict;" sums.svg && wrong "sums.svg has a conflict"
expect 1 "writes several operands: say which one with --of" -- check two.plk:sums $on --dim R=3,C=4 --svg sums.svg
expect 1 "there is no written operand x in sums; it has o, p" -- check two.plk:sums $on --dim R=3,C=4 --svg sums.svg --of x
expect 2 "--of says what --svg FILE draws" -- check two.plk:sums $on --dim R=3,C=4 --of o

# What the interpreter fails with is no result to compare with: on a device status 3, without one the run fails.
cat > behind.plk <<'END'
kernel behind(in x: i32[N], out o: i32[N] block [1] at (i)) grid (i = N) { o[...] = x[i + 1]; }
END
out=$("$clpallas" run behind.plk -i x=iota:3 --verify 2>&1); got=$?
[ "$got" -eq 3 ] || [ "$got" -eq 1 ] || wrong "run --verify of an index outside: status $got: $out"
case $out in *"index (3,) lies outside the ref [3]"*) ;; *) wrong "run --verify of an index outside says: $out" ;; esac

# Wrong usage.
expect 2 "there is no check race; there are proofs, races" -- check two.plk:sound --only race
expect 2 "--shuffles: expected a number" -- check two.plk:sound --shuffles 0
expect 2 "no option --order" -- check two.plk:sound --order reverse

# One program, statement by statement: its sequence runs from the start.
out=$("$clpallas" show two.plk:sums -i x=iota:2x4 --trace i=1,k=1 2>&1)
expected='sums: program (i = 1, k = 1)
  10 |     if (first(k)) { s[0] = 0; }
     |   if: bool = false
  11 |     var t = s[0];
     |   t: f32 = 9.
  12 |     for (e in 0 .. 2) { t += x[0, e]; }
     | e = 0
  12 |     for (e in 0 .. 2) { t += x[0, e]; }
     |   t: f32 = 15.
     | e = 1
  12 |     for (e in 0 .. 2) { t += x[0, e]; }
     |   t: f32 = 22.
  13 |     s[0] = t;
     |   s[0]: f32 = 22.
  14 |     if (last(k)) { o[...] = t; p[...] = -t; }
     |   if: bool = true
     |   o[...]: f32[1] = [22.]
     |   p[...]: f32[1] = [-22.]'
[ "$out" = "$expected" ] || wrong "show --trace says: $out"
expect 0 "o[...]: f32[4] = [ 8. 10. 12. 14.]" -- show two.plk:sound -i x=iota:10 --trace i=1
expect 0 "-6.25164 to 6.38937" -- show two.plk:sound --dim N=999 -p b=512 --trace first
expect 0 ", mean " -- show two.plk:sound --dim N=999 -p b=512 --trace first
expect 0 "NaN" -- show two.plk:sound --dim N=999 -p b=512 --trace i=1
expect 1 "the grid of sound has no program" -- show two.plk:sound --dim N=0 --trace first
expect 1 "there is no axis j" -- show two.plk:sound --dim N=10 --trace j=1
expect 1 "expected a program id of 0 to 2, got 3" -- show two.plk:sound --dim N=10 --trace i=3
expect 1 "expected a program id, got x" -- show two.plk:sound --dim N=10 --trace i=x
expect 2 "--box cannot stand beside it" -- show two.plk:sound --dim N=10 --trace i=1 --box i=0:1

[ "$n_failed" -eq 0 ] || { echo "$n_failed failed"; exit 1; }
