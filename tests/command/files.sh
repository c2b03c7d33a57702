#!/bin/sh
# files.sh COMMAND: what the command does with places that are no ordinary files, and with streams.
. "$(dirname "$0")/outside.sh"

cat > k.plk <<'END_OF_KERNEL'
kernel talk(in x: i32[N] block [2] at (i), out o: i32[N] block [2] at (i))
grid (i = cdiv(N, 2)) { print("program {}", i); o[...] = x[...] + 1; }
END_OF_KERNEL

# run, show and emit, each writing to the place $1, with no device: its compiler may want files of its own.
CLPALLAS_DEVICE=interp
export CLPALLAS_DEVICE
write_run()  { "$clpallas" run k.plk --quiet -i x=iota:4 -o "o=$1" >printed; }
write_show() { "$clpallas" show k.plk --quiet --dim N=4 --svg "$1"; }
write_emit() { "$clpallas" emit matmul --cl --output "$1"; }

for command in run show emit; do
    # A pipe stays one, and what is written goes through it.
    mkfifo pipe
    cat pipe > through &
    reader=$!
    "write_$command" pipe || wrong "$command: to a pipe: status $?"
    if [ -p pipe ]; then wait $reader; else wrong "$command: the pipe is one no longer"; kill $reader; fi
    "write_$command" plain || wrong "$command: to a file: status $?"
    cmp plain through || wrong "$command: a pipe was given something else than a file"
    rm -f pipe through

    # A link stays one, and the file that it leads to is replaced.
    mkdir -p far
    echo old > far/target
    ln -s far/target link
    "write_$command" link || wrong "$command: to a link: status $?"
    [ -L link ] || wrong "$command: the link is one no longer"
    cmp plain far/target || wrong "$command: the link's target is not what was written"
    rm -f link plain

    # Where there is no room, the status says so, and what stood there stays. The limit on a file is 0 bytes.
    echo old > kept
    (
        trap '' XFSZ
        ulimit -f 0
        "write_$command" kept 2>/dev/null
    ) && wrong "$command: wrote a file without room for it"
    [ "$(cat kept)" = old ] || wrong "$command: a file that could not be written is lost"
    [ -z "$(ls ./*.part 2>/dev/null)" ] || wrong "$command: a part was left"
done

# With --json there is one object on standard output, whatever a kernel prints and whatever else is to be shown.
"$clpallas" run k.plk -i x=iota:4 --json -o o >object 2>others || wrong "--json: status $?"
[ "$(wc -l <object)" -eq 1 ] && grep -q '^{"kernel": "talk".*}$' object || wrong "--json: no object alone: $(cat object)"
grep -q "program 1" others && grep -q "\[1 2 3 4\]" others || wrong "--json: missing on standard error: $(cat others)"

# Standard input is a FILE and has kernels to choose from.
"$clpallas" emit -:talk <k.plk | grep -q "kernel talk" || wrong "-:talk is not read"
"$clpallas" emit -:none <k.plk 2>&1 | grep -q "talk" || wrong "-:none is not refused"

echo 'kernel bad(' | "$clpallas" emit - 2>&1 | grep -q '^<stdin>:1:' || wrong "an error in standard input does not say so"

# Help that nobody could read is an error.
for option in --help --version; do
    "$clpallas" $option >/dev/full 2>&1 && wrong "$option: wrote to a device without room"
done

[ $n_failed -eq 0 ]
