#!/bin/sh
# page.sh COMMAND PAGE: does what a page of docs shows, in an empty folder, in its order. A block headed by a file's name is
# written to that file; of a block headed `console` each line behind `$ ` is run, and must say what stands below it,
# where a line `...` stands for any lines.
PATH=$(cd "$(dirname "$1")" && pwd):$PATH
page=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 2
n_failed=0 n_run=0 state='' command=''

# Whether the lines of `said` are those of `shown`.
agree() {
    awk 'NR == FNR { want[++n] = $0; next } { got[++m] = $0 }
        function fits(w, g) {
            if (w > n) return g > m
            if (want[w] == "...") {
                for (; g <= m + 1; g++) if (fits(w + 1, g)) return 1
                return 0
            }
            return g <= m && want[w] == got[g] && fits(w + 1, g + 1)
        }
        END { exit !fits(1, 1) }' shown said
}

run() {
    [ -n "$command" ] || return
    n_run=$((n_run + 1))
    sh -c "$command" >said 2>&1 </dev/null
    if ! agree; then
        echo "\$ $command"; echo "expected:"; cat shown; echo "got:"; cat said; echo
        n_failed=$((n_failed + 1))
    fi
    command=''
}

while IFS= read -r line; do
    case $state:$line in
    :'```console') state=console ;;
    :'```'*.plk) file=${line#'```'}; : >"$file"; state=file ;;
    :'```'*) state=other ;;
    *:'```') [ $state != console ] || run; state='' ;;
    file:*) printf '%s\n' "$line" >>"$file" ;;
    console:'$ '*) run; command=${line#'$ '}; : >shown ;;
    console:*) printf '%s\n' "$line" >>shown ;;
    esac
done <"$page"
echo "$n_run commands, $n_failed failed"
[ "$n_failed" -eq 0 ] && [ "$n_run" -gt 0 ]
