/* clpallas: the command. In: the command line. Decides which command runs; every exit status comes from here. */
#include <string.h>

#include "tool.h"

typedef struct command {
    const char *name;
    int       (*run)(const options *o);
    unsigned    takes;
    const char *arguments, *does;
} command;

static const command commands[] = {
    { "run", command_run, TAKES_KERNEL | TAKES_ARRAYS | TAKES_DEVICE | TAKES_RUN | TAKES_TUNED | TAKES_JSON,
      "FILE[:KERNEL] [options]", "run a kernel on arrays" },
    { "check", command_check, TAKES_KERNEL | TAKES_ARRAYS | TAKES_DEVICE | TAKES_CHECK | TAKES_TUNED | TAKES_JSON, "FILE[:KERNEL] [options]",
      "find races and memory faults; compare the device and the interpreter" },
    { "show", command_show, TAKES_KERNEL | TAKES_ARRAYS | TAKES_SVG | TAKES_TRACE, "FILE[:KERNEL] [options]",
      "draw which program sees which block; show what one program does" },
    { "emit", command_emit, TAKES_KERNEL | TAKES_DEVICE | TAKES_STAGE, "FILE[:KERNEL] [options]",
      "print what the compiler makes of a kernel" },
    { "tune", command_tune, TAKES_KERNEL | TAKES_ARRAYS | TAKES_DEVICE | TAKES_TUNE | TAKES_JSON, "FILE[:KERNEL] [options]",
      "try the kernel's `tune` lists on this device and remember the best" },
    { "bench", command_bench, TAKES_BENCH | TAKES_DEVICE | TAKES_TUNED | TAKES_JSON, "[NAME...] [options]",
      "measure against what would be called instead" },
    { "roofline", command_roofline, TAKES_KERNEL | TAKES_ARRAYS | TAKES_DEVICE | TAKES_SVG | TAKES_JSON | TAKES_ROOFLINE, "FILE[:KERNEL] [options]",
      "work, traffic and intensity, against what the device can do" },
    { "devices", command_devices, TAKES_JSON, "[options]",
      "list what kernels can run on here, and why something cannot" },
};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

static void print_help(void)
{
    printf("clpallas %s: block-level kernels on OpenCL devices and in an interpreter\n\n", clp_version());
    for (int i = 0; i < N_COMMANDS; i++)
        printf("  clpallas %-8s %-24s %s\n", commands[i].name, commands[i].arguments, commands[i].does);
    printf("  clpallas COMMAND --help\n  clpallas --version\n\n"
           "FILE is kernel text, - is standard input, a bare name (matmul) a standard kernel.\n");
}

/* What could not be written is an error, whatever was asked for. */
static int end_of_output(int status)
{
    if (fflush(stdout) || ferror(stdout))
        return status ? status : fail("standard output cannot be written");
    return status;
}

static int run_command(const command *c, int argc, char **argv)
{
    options o;
    int status = options_parse(&o, c->takes, c->name, argc, argv);
    if (status == DONE && o.help) {
        printf("usage: clpallas %s %s\n\n%s\n\n", c->name, c->arguments, c->does);
        options_help(c->takes);
    } else if (status == DONE) {
        status = c->run(&o);
    }
    options_done(&o);
    return end_of_output(status);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "--help";
    if (!strcmp(name, "--version")) {
        printf("clpallas %s\n", clp_version());
        return end_of_output(DONE);
    }
    if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help")) {
        print_help();
        return end_of_output(argc > 1 ? DONE : WRONG_USAGE);
    }
    for (int i = 0; i < N_COMMANDS; i++)
        if (!strcmp(name, commands[i].name))
            return run_command(&commands[i], argc - 2, argv + 2);
    const char *names[N_COMMANDS];
    char nearest[96];
    for (int i = 0; i < N_COMMANDS; i++)
        names[i] = commands[i].name;
    return fail_usage("there is no command %s%s; clpallas --help lists them", name, did_you_mean(nearest, sizeof nearest, name, names, N_COMMANDS));
}
