#!/bin/sh
# intel-opencl: Intel's OpenCL runtime for CPUs, from PyPI, for tests on another vendor's compiler. Nothing of the system changes.
# In: a folder to put it in (build/intel-opencl when none is given); what stands there already is used again. Out: on standard
# output the exports that make it the only implementation; what pip says goes to standard error.
#
#     eval "$(tools/intel-opencl.sh)" && build/clpallas devices
set -eu
cd "$(dirname "$0")/.."
target=${1:-build/intel-opencl}
mkdir -p "$target"
target=$(cd "$target" && pwd)

# The registration is written last: it stands for a runtime that is whole.
if [ ! -s "$target/vendors/intel.icd" ]; then
    python3 -m venv "$target/python" >&2
    "$target/python/bin/pip" install --quiet --disable-pip-version-check intel-opencl-rt intel-cmplr-lib-rt >&2
    mkdir -p "$target/lib" "$target/vendors"
    for file in "$target"/python/lib/*; do
        case ${file##*/} in
        libOpenCL*) ;;          # a loader of its own: the system's stays in use
        python*) ;;
        *) ln -sf "$file" "$target/lib/" ;;
        esac
    done
    [ -e "$target/lib/libintelocl.so" ] || { echo "intel-opencl: the packages hold no libintelocl.so" >&2; exit 1; }
    printf '%s\n' "$target/lib/libintelocl.so" > "$target/vendors/intel.icd"
fi
printf "export OCL_ICD_VENDORS='%s'\n" "$target/vendors"
printf "export LD_LIBRARY_PATH='%s'\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}\n" "$target/lib"
