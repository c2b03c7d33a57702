# outside.sh: what the tests of the command from outside have in common. Read by them, with the command as $1: they go on in an
# empty folder that is removed at the end, and count what is wrong in $n_failed.
clpallas=$1
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 2
n_failed=0

wrong() { echo "$*"; n_failed=$((n_failed + 1)); }

# expect STATUS [PART]: runs the command line that follows --; PART must stand in what it says (either stream).
expect() {
    status=$1; part=$2; shift 3
    out=$("$clpallas" "$@" 2>&1 </dev/null); got=$?
    [ "$got" -eq "$status" ] || wrong "clpallas $*: expected status $status, got $got: $out"
    case $out in
    *"$part"*) ;;
    *) wrong "clpallas $*: expected \"$part\" in: $out" ;;
    esac
}
