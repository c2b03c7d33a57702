#!/bin/sh
# test-devices: the tests that run kernels, on every OpenCL implementation of this machine, one implementation at a time.
# In: the build folder, and names of implementations when not all are wanted. Out: a table, a line for each implementation,
# test and schedule: pass, fail or skipped; why follows. Exit status 1 if anything failed, 77 if nothing ran.
# Decides how much each can bear: compilers and simulators that are slow get some cases only, small ones; --whole gives them all.
#
#     tools/test-devices.sh [--whole] BUILD [pocl|intel|rusticl|oclgrind|...]
#
# Implementations are those registered with the system, Oclgrind where it is installed, and Intel's where tools/intel-opencl.sh
# put it (CLPALLAS_INTEL_DIR, else BUILD/intel-opencl). CLPALLAS_DEVICE_SECONDS limits each line of the table (default 1200).
set -u
source=$(cd "$(dirname "$0")/.." && pwd)
whole=false
[ "${1:-}" = --whole ] && whole=true && shift
[ $# -ge 1 ] || { echo "usage: tools/test-devices.sh [--whole] BUILD [implementation...]" >&2; exit 2; }
build=$(cd "$1" && pwd) || exit 2
shift
wanted=$*
seconds=${CLPALLAS_DEVICE_SECONDS:-1200}
intel=${CLPALLAS_INTEL_DIR:-$build/intel-opencl}
registered=${OCL_ICD_VENDORS:-/etc/OpenCL/vendors}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
n_passed=0 n_failed=0

# One kernel, or case, may take this long on a simulator.
item_seconds=${CLPALLAS_ITEM_SECONDS:-300}

# A case or two of each kind: grids, edges, masks, gathers, scatters, loops, reductions, dots, small dtypes, sorting, atomics.
few_cases="add_1d add_3d block_pad block_poison bools broadcast cast_int cumsum divide_i8 dot_small grid_zero histogram iota prefetch_gather
    reduce_arg reduce_nan ref_masked_load ref_scatter scratch_counter sort while_scalar"

# ---- Implementations ----

# Puts the registration of an implementation alone into a folder.
offer() {
    mkdir -p "$work/$1" && printf '%s\n' "$2" > "$work/$1/$1.icd"
}

find_implementations() {
    for file in "$registered"/*.icd; do
        [ -e "$file" ] && offer "$(basename "$file" .icd)" "$(head -n 1 "$file")"
    done
    [ -s "$intel/vendors/intel.icd" ] && offer intel "$(cat "$intel/vendors/intel.icd")"
    command=$(command -v oclgrind) || return 0
    for folder in lib lib/oclgrind lib64 lib64/oclgrind; do
        library=$(dirname "$(dirname "$(readlink -f "$command")")")/$folder/liboclgrind-rt-icd.so
        [ -e "$library" ] && offer oclgrind "$library"
    done
}

is_wanted() {
    [ -z "$wanted" ] && return 0
    for name in $wanted; do
        [ "$name" = "$1" ] && return 0
    done
    return 1
}

# What an implementation needs to be told. Oclgrind knows no `freeze`, which its own compiler makes when it optimises; programs
# from a cache have no source lines to report.
on() {
    name=$1
    shift
    case $name in
    intel) set -- LD_LIBRARY_PATH="$intel/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$@" ;;
    rusticl) set -- RUSTICL_ENABLE="${RUSTICL_ENABLE:-llvmpipe}" "$@" ;;
    oclgrind) set -- CLPALLAS_CACHE=off OCLGRIND_UNINITIALIZED=1 OCLGRIND_DATA_RACES=1 OCLGRIND_BUILD_OPTIONS=-cl-opt-disable OCLGRIND_LOG="$work/findings" "$@" ;;
    esac
    env OCL_ICD_VENDORS="$work/$name" CLPALLAS_CACHE_DIR="$build/kernel-cache-$name" POCL_CACHE_DIR="$work/pocl-cache" "$@"
}

# ---- The table ----

line() {
    printf '%-10s  %-13s  %-8s  %-8s  %s\n' "$@"
}

# What Oclgrind has found, into $work/found; true if that is something. Not counted: the plain read at the head of the loops that
# make float atomics, against the exchange in them. It is a first guess, and the exchange fails when it was wrong.
finds_faults() {
    awk 'BEGIN { RS = ""; ORS = "\n\n" } !(/old = \*word, seen;/ && /cmpxchg\(word, seen,/)' "$work/findings" > "$work/found"
    [ -s "$work/found" ]
}

# run NAME TEST SCHEDULE COMMAND...
run() {
    name=$1 test=$2 schedule=$3
    shift 3
    : > "$work/findings"
    on "$name" CLP_REQUIRE_CL=1 timeout "$seconds" "$@" > "$work/log" 2>&1
    status=$?
    summary=$(tail -n 1 "$work/log" | sed 's/^.*: \([0-9]* passed\)/\1/; s/^.*Synthesis: //')
    if [ $status -eq 124 ]; then
        summary="longer than $seconds seconds"
    elif finds_faults; then
        summary="$summary; oclgrind reports faults" status=1
    fi
    if [ $status -eq 0 ]; then
        n_passed=$((n_passed + 1))
        line "$name" "$test" "$schedule" pass "$summary"
    else
        n_failed=$((n_failed + 1))
        line "$name" "$test" "$schedule" fail "$summary"
        show_fault
    fi
    grep '^skipped: \|^refused: ' "$work/log" | sort -u | sed 's/^/            /'
}

show_fault() {
    grep -v '^skipped: \|^refused: \|^\[====\]\|passed, .* failed, ' "$work/log" | head -n 40 | sed 's/^/            /'
    head -n 40 "$work/found" | sed 's/^/            /'
}

# run_each NAME TEST SCHEDULE ITEMS COMMAND...: a process for each line of the file ITEMS, which comes last on its command line.
# For Oclgrind: where one process runs many kernels its check for uninitialised values mixes up memory objects that are gone
# with new ones, and crashes or reports what is not there.
run_each() {
    name=$1 test=$2 schedule=$3 items=$4
    shift 4
    n_good=0 bad='' long=''
    : > "$work/faults"
    while IFS= read -r item; do
        : > "$work/findings"
        on "$name" CLP_REQUIRE_CL=1 timeout "$item_seconds" "$@" "$item" > "$work/log" 2>&1 < /dev/null
        status=$?
        if [ $status -eq 124 ]; then
            long="$long, $item"
        elif finds_faults || [ $status -ne 0 ]; then
            bad="$bad, $item"
            { echo "            $item: status $status"; show_fault; } >> "$work/faults"
        else
            n_good=$((n_good + 1))
        fi
    done < "$items"
    if [ -z "$bad" ]; then
        n_passed=$((n_passed + 1))
        line "$name" "$test" "$schedule" pass "$n_good passed"
    else
        n_failed=$((n_failed + 1))
        line "$name" "$test" "$schedule" fail "$n_good passed; not${bad#,}"
        cat "$work/faults"
    fi
    [ -z "$long" ] || skip "$test" "$schedule" "longer than $item_seconds seconds each:${long#,}"
}

# Every kernel of tests/diff and of the library at a tiny shape, and every case of tests/cases: operations, subscripts, blocks, grids,
# loops, batches, prints. Some or all of the kernels that JAX ran.
test_simulated() {
    sed -n 's/^    { "\(.*\)", .*/\1/p' "$source/tests/diff/tiny.c" > "$work/rows"
    for file in "$source"/tests/cases/*.plk; do      # those of found.plk are wrong on purpose
        [ "$(basename "$file")" = found.plk ] || sed -n 's/^\/\/> \(case\|id\) \([^:]*\):.*/\2/p' "$file"
    done | tr -d ' ' | tr ',' '\n' | sort -u | grep -v '^C53$\|^H18$\|^K1$' > "$work/ids"
    if $whole; then
        for case in "$source"/tests/jax/*/; do basename "$case"; done > "$work/jax"
    else
        printf '%s\n' $few_cases > "$work/jax"
    fi
    for schedule in vector simt; do
        run_each "$name" jax $schedule "$work/jax" "$build/tests/jax/jax_runner" "$source/tests/jax" cl $schedule forward
        run_each "$name" diff $schedule "$work/rows" "$build/tests/diff/diff_runner" "$source/tests/diff" cl $schedule forward tiny
        skip cases $schedule "C53, H18, K1: several runs in one process that its check for uninitialised values crashes in, or mixes up; alone they are clean"
        run_each "$name" cases $schedule "$work/ids" "$build/tests/cases/cases_runner" "$source/tests/cases" cl $schedule forward
    done
}

# What is left out on an implementation, and why. That of several threads a program without clpallas shows too.
skip() {
    line "$name" "$1" "$2" skipped "$3"
}

test_unit() {
    case $name in
    oclgrind)
        run "$name" test_cl - "$build/tests/test_cl" --filter 'cl/!(one_kernel_runs_in_several_threads)'
        skip test_cl - "several threads in one queue: it crashes"
        run "$name" test_adopt - "$build/tests/test_adopt" --filter 'adopt/!(works_*)'
        skip test_adopt - "the two that run kernels: they did not end in 20 seconds, cause unknown"
        skip test_threads - "it crashes in one queue used by several threads"
        $whole || { skip test_prelude - "not tried: every op of every dtype, simulated, is slow"; return; }
        ;;
    rusticl)
        run "$name" test_cl - "$build/tests/test_cl" --filter 'cl/!(one_kernel_runs_in_several_threads)'
        run "$name" test_adopt - "$build/tests/test_adopt"
        run "$name" test_batch - "$build/tests/test_batch"
        run "$name" test_far - "$build/tests/test_far"
        skip test_threads - "several threads in one queue: it mixes up their commands and refuses to unmap (Mesa 22.3)"
        if ! $whole; then
            run "$name" test_prelude - "$build/tests/test_prelude" --filter 'prelude/casts*'
            skip test_prelude - "every op of every dtype: its compiler takes more than ten minutes"
            return
        fi
        ;;
    *)
        run "$name" test_cl - "$build/tests/test_cl"
        run "$name" test_adopt - "$build/tests/test_adopt"
        run "$name" test_batch - "$build/tests/test_batch"
        run "$name" test_far - "$build/tests/test_far"
        run "$name" test_threads - "$build/tests/test_threads"
        ;;
    esac
    run "$name" test_prelude - "$build/tests/test_prelude"
}

test_implementation() {
    name=$1
    device=$(on "$name" "$build/clpallas" devices 2>&1 | sed -n 's/^cl:0 *//p')
    if [ -z "$device" ]; then
        line "$name" all - skipped "it has no device"
        return
    fi
    echo "$name: $device"
    cases='' is_slow=false
    if [ "$name" = oclgrind ]; then
        test_simulated
        test_unit
        return
    fi
    [ "$name" = rusticl ] && ! $whole && is_slow=true
    # Mesa's compiler takes the vectors of `vector` apart, and is minutes at work on a function of floats: simt is what it gets by itself.
    for schedule in vector simt; do
        cases=''
        $is_slow && [ $schedule = vector ] && cases=$few_cases && skip jax vector "all but these: its compiler takes minutes for some; all run in simt"
        run "$name" jax $schedule "$build/tests/jax/jax_runner" "$source/tests/jax" cl $schedule forward $cases
        if $is_slow; then
            run "$name" diff $schedule "$build/tests/diff/diff_runner" "$source/tests/diff" cl $schedule forward \
                widened tables 'chain -i x=randn:31' 'chain -p T=bf16' 'chain -p T=f64' 'integers -i x=randn' 'integer_dot -p T=u8' 'slices' 'nibbles -i' 'logic'
        else
            run "$name" diff $schedule "$build/tests/diff/diff_runner" "$source/tests/diff" cl $schedule forward
        fi
        if $is_slow && [ $schedule = vector ]; then
            skip cases vector "as above; all run in simt"
        else
            run "$name" cases $schedule "$build/tests/cases/cases_runner" "$source/tests/cases" cl $schedule forward
        fi
    done
    run "$name" test_small - "$build/tests/test_small"
    test_unit
}

find_implementations
for program in clpallas tests/jax/jax_runner tests/diff/diff_runner tests/cases/cases_runner tests/test_cl tests/test_adopt tests/test_batch tests/test_far tests/test_small tests/test_threads tests/test_prelude; do
    [ -x "$build/$program" ] || { echo "test-devices: $build/$program is not built" >&2; exit 2; }
done
line implementation test schedule result ""
for folder in "$work"/*/; do
    name=$(basename "$folder")
    [ -e "$folder/$name.icd" ] && is_wanted "$name" && test_implementation "$name"
done
for name in pocl intel rusticl oclgrind; do
    [ ! -e "$work/$name" ] && is_wanted "$name" && line "$name" all - skipped "it is not installed"
done
echo "$n_passed passed, $n_failed failed"
[ $n_failed -eq 0 ] || exit 1
[ $n_passed -gt 0 ] || exit 77
