#!/bin/sh
# gpu-resources: what standard kernels need of a GPU, found by compiling them for one that need not be here.
# In: the command `clpallas`; kernels with parameters when not the usual ones are wanted. Out: a table, a line for each kernel and
# target. Exit status 1 if a kernel does not compile, spills, keeps an array on the stack, or lets run less than a quarter of the work-items that
# a target could hold, or if the inner loop of a product has fewer than 16 multiply-adds for each load from local memory; 77 if no target's compiler is here.
#
#     tools/gpu-resources.sh CLPALLAS ['matmul -p T=bf16' ...]
#
# NVIDIA's compiler is held to 128 registers, as the library asks it to by -cl-nv-maxrregcount.
#
# Needs clang 15 and libclc; for NVIDIA's targets ptxas too (of the CUDA toolkit, also where it usually lies). What is missing is named.
# CLPALLAS_KEEP=FOLDER keeps the OpenCL C and what was made of it.
#
# fma/load: of the basic block with most multiply-adds. occupancy: resident work-items to the most there can be, by registers, local memory
# and group size, from the tables of NVIDIA's CUDA programming guide (compute capabilities 8.0, 9.0) and AMD's CDNA2 ISA guide. SGPRs that
# spill go to lanes of VGPRs, not to memory: they are shown behind a plus.
set -u
[ $# -ge 1 ] || { echo "usage: tools/gpu-resources.sh CLPALLAS [kernel...]" >&2; exit 2; }
clpallas=$1
shift
[ $# -gt 0 ] || set -- 'matmul -p T=f32' 'matmul -p T=f16' 'matmul -p T=f32,bm=64,bn=64' 'matmul_tn -p T=f32' matmul_i8 'attention -p T=f32' 'attention -p T=f16' \
    'attention -p T=f32,causal=true' 'attention -p T=f32,d=128' 'attention -p T=f16,d=128,causal=true' 'softmax -p T=f32' 'softmax -p T=f16'
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
[ -z "${CLPALLAS_KEEP:-}" ] || { work=$CLPALLAS_KEEP; mkdir -p "$work"; trap - EXIT; }
libclc=${CLPALLAS_LIBCLC:-/usr/lib/clc}
n_done=0 n_bad=0

ptxas=$(command -v ptxas || ls /usr/local/cuda/bin/ptxas 2> /dev/null)
if ! command -v clang-15 > /dev/null; then
    echo "skipped: all targets: there is no clang-15"
    exit 77
fi

# compile TARGET CPU SOURCE OUT
compile() {
    case $1 in
    nvptx64--nvidiacl) cpu='' ;;
    *) cpu="-mcpu=$2 -nogpulib" ;;
    esac
    # The options are several words on purpose.
    # shellcheck disable=SC2086
    clang-15 -target "$1" $cpu -Xclang -mlink-bitcode-file -Xclang "$libclc/$1.bc" -x cl -cl-std=CL1.2 -Xclang -finclude-default-header \
        -O3 -w -S "$3" -o "$4" > "$work/log" 2>&1
}

# Of assembly: "multiply-adds for a local load" of the block that has most of them, and barriers.
count() {
    awk '
    function leave() { if (fmas > most) { most = fmas; most_loads = loads } fmas = loads = 0 }
    /^[$.]L?_*_?L?BB[0-9_]+:/ { leave() }
    /fma\.rn\.f(32|64)|v_fmac?_f(32|64)|v_fma_mix_f32|mad\.lo\.s32|v_mad_u64_u32/ { fmas++ }
    /v_pk_fma_f32/ { fmas += 2 }
    /ld\.shared|ds_read/ { loads++ }
    /bar\.sync|barrier\.sync|s_barrier/ { barriers++ }
    END { leave(); printf "%s %d\n", most_loads ? sprintf("%.1f", most / most_loads) : "-", barriers }' "$1"
}

# occupancy TARGET REGISTERS LOCAL GROUP: percent
occupancy() {
    awk -v target="$1" -v registers="$2" -v bytes="$3" -v group="$4" 'BEGIN {
        if (target == "gfx90a") {
            wave = 64; most = 32; unit = 8; per_simd = int(512 / (int((registers + unit - 1) / unit) * unit))
            waves = (per_simd > 8 ? 8 : per_simd) * 4; room = 65536; most_groups = 32; reserved = 0
        } else {
            wave = 32; most = 64; unit = 8; waves = int(65536 / (int((registers + unit - 1) / unit) * unit * 32))
            waves = waves > 64 ? 64 : waves; room = (target == "sm_80" ? 164 : 228) * 1024; most_groups = 32; reserved = 1024
        }
        group_waves = int((group + wave - 1) / wave); groups = int(waves / group_waves)
        if (groups > most_groups) groups = most_groups
        if (bytes + reserved > 0 && groups > int(room / (bytes + reserved))) groups = int(room / (bytes + reserved))
        printf "%d\n", 100 * groups * group_waves / most }'
}

line() {
    printf '%-22s %-7s %9s %8s %6s %7s %6s %10s %9s %9s  %s\n' "$@"
}

# report KERNEL TARGET REGISTERS SPILLS STACK LOCAL GROUP ASSEMBLY
report() {
    # shellcheck disable=SC2046
    set -- "$@" $(count "$8") "$(occupancy "$2" "$3" "$6" "$7")"
    verdict=
    [ "${4%%+*}" = 0 ] || verdict="$verdict, spills"
    [ "$5" = 0 ] || verdict="$verdict, has a stack"
    [ "${11}" -ge 25 ] || verdict="$verdict, occupancy below 25 %"
    case $1 in matmul*) awk -v r="$9" 'BEGIN { exit !(r + 0 < 16) }' && verdict="$verdict, fewer than 16 multiply-adds a load" ;; esac
    line "$1" "$2" "$3" "$4" "$5" "$6" "$7" "${11} %" "$9" "${10}" "${verdict#, }"
    n_done=$((n_done + 1))
    [ -z "$verdict" ] || n_bad=$((n_bad + 1))
}

fails() {
    line "$1" "$2" - - - - - - - - "does not compile"
    sed 's/^/    /' "$work/log" | head -n 20
    n_bad=$((n_bad + 1))
}

# A number behind a pattern in a file, 0 if there is none.
number() {
    found=$(sed -n "s/.*$1.*/\\1/p" "$2" | head -n 1)
    echo "${found:-0}"
}

on_nvidia() {
    compile nvptx64--nvidiacl '' "$2.cl" "$2.ptx" || { fails "$1" sm_80; return; }
    for sm in 80 90; do
        sed "s/^\.target.*/.target sm_$sm/; s/^\.version.*/.version 8.0/" "$2.ptx" > "$2.$sm.ptx"
        if ! "$ptxas" -v -arch=sm_$sm -maxrregcount=128 "$2.$sm.ptx" -o "$2.$sm.cubin" > "$work/log" 2>&1; then
            fails "$1" sm_$sm
            continue
        fi
        spills=$(awk '/spill stores/ { for (i = 1; i < NF; i++) if ($(i + 2) == "spill") n += $i } END { print n + 0 }' "$work/log")
        report "$1" sm_$sm "$(number 'Used \([0-9]*\) registers' "$work/log")" "$spills" "$(number ' \([0-9]*\) bytes stack frame' "$work/log")" \
            "$(number ' \([0-9]*\) bytes smem' "$work/log")" "$3" "$2.$sm.ptx"
    done
}

on_amd() {
    compile amdgcn--amdhsa gfx90a "$2.cl" "$2.s" || { fails "$1" gfx90a; return; }
    to_lanes=$(number '\.sgpr_spill_count: *\([0-9]*\)' "$2.s") spills=$(number '\.vgpr_spill_count: *\([0-9]*\)' "$2.s")
    [ "$to_lanes" = 0 ] || spills=$spills+$to_lanes
    report "$1" gfx90a "$(number '\.vgpr_count: *\([0-9]*\)' "$2.s")" "$spills" "$(number '\.private_segment_fixed_size: *\([0-9]*\)' "$2.s")" \
        "$(number '\.group_segment_fixed_size: *\([0-9]*\)' "$2.s")" "$3" "$2.s"
}

line kernel target registers spills stack local group occupancy fma/load barriers ''
i=0
for kernel in "$@"; do
    i=$((i + 1))
    # shellcheck disable=SC2086
    if ! "$clpallas" emit $kernel --cl --for gpu > "$work/$i.cl"; then
        n_bad=$((n_bad + 1))
        continue
    fi
    name=$(echo "$kernel" | sed 's/ -p / /g')
    group=$(number 'reqd_work_group_size(\([0-9]*\)' "$work/$i.cl")
    [ -n "$ptxas" ] && [ -e "$libclc/nvptx64--nvidiacl.bc" ] && on_nvidia "$name" "$work/$i" "$group"
    [ -e "$libclc/amdgcn--amdhsa.bc" ] && on_amd "$name" "$work/$i" "$group"
done
[ -n "$ptxas" ] || echo "skipped: sm_80, sm_90: there is no ptxas"
for target in nvptx64--nvidiacl amdgcn--amdhsa; do
    [ -e "$libclc/$target.bc" ] || echo "skipped: $target: there is no $libclc/$target.bc (libclc)"
done
[ $n_bad -eq 0 ] || exit 1
[ $n_done -gt 0 ] || exit 77
