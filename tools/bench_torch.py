# PyTorch as a peer of `clpallas bench`: reads commands, a line each, and answers each with a line.
#     open FILE name:dtype:shape:offset ...    tensors with what the file holds there                       -> ok
#     work [SETUP;] EXPRESSION                 what a run computes                                          -> ok
#     run N                                    N runs back to back                                          -> their seconds
#     result FILE OFFSET                       the last run's value as bytes in the file                    -> ok
# Whatever goes wrong is answered with "error: " and the reason.
import sys, time, mmap
import torch
import torch.nn.functional as F

tensors, run, last = {}, None, None


def read(file, items):
    tensors.clear()
    with open(file, "r+b") as f:
        memory = mmap.mmap(f.fileno(), 0)
    for item in items:
        name, dtype, shape, offset = item.split(":")
        sizes = [int(n) for n in shape.split("x")] if shape else []
        count = 1
        for n in sizes:
            count *= n
        tensors[name] = torch.frombuffer(memory, dtype=getattr(torch, dtype), count=count, offset=int(offset)).reshape(sizes).clone()


def answer(line):
    global run, last
    command, _, rest = line.partition(" ")
    if command == "open":
        file, *items = rest.split(" ")
        read(file, items)
    elif command == "work":
        setup, _, expression = rest.rpartition(";")
        names = dict(tensors, torch=torch, F=F)
        exec(setup, names)
        run = eval("lambda: " + expression, names)
    elif command == "run":
        start = time.perf_counter()
        for _ in range(int(rest)):
            last = run()
        return repr(time.perf_counter() - start)
    elif command == "result":
        file, offset = rest.split(" ")
        value = (last[0] if isinstance(last, tuple) else last).contiguous().reshape(-1).view(torch.uint8)
        with open(file, "r+b") as f:
            f.seek(int(offset))
            f.write(bytes(value.numpy()))
    return "ok"


torch.set_grad_enabled(False)
print("torch", torch.__version__, flush=True)
for line in sys.stdin:
    try:
        print(answer(line.rstrip("\n")), flush=True)
    except Exception as e:
        print("error:", " ".join(str(e).split()), flush=True)
