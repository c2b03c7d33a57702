#!/bin/sh
# gpu-test: what there is to be known of a GPU, in five minutes: tests of the simt schedule on it, then the benchmark.
# In: the build folder (preset tests); the device, cl:0 if none is named (`clpallas devices` lists them). Out: a line for each test,
# the benchmark's tables, with CLBlast on the same device as the peer where it is installed, and what kernels need by the
# compilers' own account. Exit status 1 if a test failed, 77 if the device cannot be used.
# Decides how long each may take, so that all of it ends in time: what was cut short says so, and has not failed.
#
#     tools/gpu-test.sh BUILD [cl:N]
#
# cuBLAS is no peer of the benchmark: it works on CUDA's memory, not on that of an OpenCL context; a row for it is left out.
set -u
source=$(cd "$(dirname "$0")/.." && pwd)
[ $# -ge 1 ] || { echo "usage: tools/gpu-test.sh BUILD [cl:N]" >&2; exit 2; }
build=$(cd "$1" && pwd) || exit 2
device=${2:-cl:0}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
n_failed=0 started=$(date +%s)
rows='matmul-1024 matmul-2048 matmul-4096 matmul_nt-1024 attention-f32-1024-64 attention-f32-4096-64 attention-f32-1024-64-causal softmax-4096x1024
    layer_norm-4096x1024 gelu-4096x1024 row_sum add transpose histogram launch'

name=$("$build/clpallas" devices | sed -n "s/^$device  *//p")
[ -n "$name" ] || { echo "gpu-test: there is no device $device" >&2; "$build/clpallas" devices >&2; exit 77; }
echo "$device: $name"

seconds() {
    echo $(($(date +%s) - started))
}

# run SECONDS NAME COMMAND...
run() {
    most=$1 test=$2
    shift 2
    from=$(seconds)
    CLP_REQUIRE_CL=1 CLPALLAS_TEST_CL=${device#cl:} timeout "$most" "$@" > "$work/log" 2>&1 < /dev/null
    status=$?
    summary=$(tail -n 1 "$work/log" | sed 's/^.*: \([0-9]* passed\)/\1/; s/^.*Synthesis: //')
    case $status in
    0) verdict=pass ;;
    124) verdict=cut summary="not done after $most seconds" ;;
    *) verdict=fail n_failed=$((n_failed + 1)) ;;
    esac
    printf '%-24s %-5s %4s s  %s\n' "$test" $verdict $(($(seconds) - from)) "$summary"
    [ $verdict != fail ] || grep -v '^skipped: \|^refused: ' "$work/log" | head -n 20 | sed 's/^/    /'
    [ $verdict != cut ] || grep '^failed: ' "$work/log" | head -n 20 | sed 's/^/    /'
}

run 20 test_cl "$build/tests/test_cl"
run 45 'diff, simt' "$build/tests/diff/diff_runner" "$source/tests/diff" "$device" simt forward
run 40 'jax, simt' "$build/tests/jax/jax_runner" "$source/tests/jax" "$device" simt forward
run 40 'cases, simt' "$build/tests/cases/cases_runner" "$source/tests/cases" "$device" simt forward
run 20 'gen, 20 seeds, simt' "$build/tests/gen/gen_runner" 1 20 "$device" simt

for row in $rows; do
    left=$((285 - $(seconds)))
    if [ $left -lt 5 ]; then
        echo "left out, no time: $row"
        continue
    fi
    timeout $((left < 30 ? left : 30)) "$build/clpallas" bench "$row" --on "$device" --time 10 < /dev/null || echo "$row: not done (status $?)"
done
timeout 15 "$source/tools/gpu-resources.sh" "$build/clpallas" || echo "resources: not as wanted, or not all of them known (status $?)"
echo "$(seconds) seconds; $n_failed tests failed"
[ $n_failed -eq 0 ]
