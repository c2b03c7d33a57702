/* insns: which instructions of the host's CPU a device's OpenCL C reaches.
 * In: an open device. Out: CLPI_INSN_ bits of its limits. A CPU device is this host; what its CPU has, CPUID says (and whether the
 * system keeps the registers); whether inline assembly gets there, a program that uses it: it is built and run once for each
 * device and driver, and the store remembers.                                                                            */
#define _DEFAULT_SOURCE         /* syscall */
#include <string.h>

#include "cl/cl.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

enum { TILE_STATE = 3 << 17 };

/* Linux gives a process the registers of tiles when it asks for them (Documentation/arch/x86/xstate.rst). */
static bool may_use_tiles(void)
{
#ifdef __linux__
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
#else
    return false;
#endif
}

/* Intel SDM, volume 2, CPUID; volume 1, 13.3: bits 5 to 7 of XCR0 are the state of AVX-512, 17 and 18 that of tiles. */
static uint32_t insns_of_host(void)
{
    unsigned a, b, c, d, low, high;
    uint32_t insns = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & (1u << 27)))       /* OSXSAVE */
        return 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if ((low & 0xe6u) != 0xe6u || !__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return 0;
    if (!(b & (1u << 16)) || !(b & (1u << 31)))                     /* AVX512F, AVX512VL */
        return 0;
    insns |= CLPI_INSN_AVX512_SCALE;
    if (c & (1u << 11))
        insns |= CLPI_INSN_AVX512_VNNI;
    if ((d & (1u << 24)) && (low & TILE_STATE) == TILE_STATE && may_use_tiles()) {
        insns |= d & (1u << 22) ? CLPI_INSN_AMX_BF16 : 0;
        insns |= d & (1u << 25) ? CLPI_INSN_AMX_INT8 : 0;
    }
    if (a >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & (1u << 5)))
        insns |= CLPI_INSN_AVX512_BF16;
    return insns;
}
#else
static uint32_t insns_of_host(void)
{
    return 0;
}
#endif

/* Lane i has the sums 1 * 1 + 2 * 2 of bf16, and 250 * -1 + 1 * 2 + 0 + 0 of bytes; 3 * 2^-2. Of tiles, whose rows of x are their
 * number and the last two of which are not there: row 13, of all 32 bf16 or 64 bytes times 1. */
static const char probe_text[] =
    "__kernel void probe(__global float *o)\n"
    "{\n"
    "    float16 f = 0; uint16 n = 0;\n"
    "    const uint16 pair = 0x40003f80u, ubytes = 0x000001fau, bytes = 0x000002ffu;\n"
    "#ifdef TILES\n"
    "    const uchar tiles[64] = { 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 64, 0, 64, 0, 64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,\n"
    "                               0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 14, 14, 16 };\n"
    "    uint x[224], y[256], z[224];\n"
    "    for (uint i = 0; i < 224; i++)\n"
    "        x[i] = TILES == 32 ? (as_uint((float)(i / 16)) >> 16) * 0x10001u : i / 16 * 0x1010101u;\n"
    "    for (uint i = 0; i < 256; i++)\n"
    "        y[i] = TILES == 32 ? 0x3f803f80u : 0x1010101u;\n"
    "    __asm__ volatile(\"ldtilecfg %0\" : : \"m\"(tiles));\n"
    "    __asm__ volatile(\"tilezero %tmm0\");\n"
    "    __asm__ volatile(\"tileloadd (%0,%1,1), %%tmm1\" : : \"r\"(x), \"r\"(64L) : \"memory\");\n"
    "    __asm__ volatile(\"tileloadd (%0,%1,1), %%tmm2\" : : \"r\"(y), \"r\"(64L) : \"memory\");\n"
    "#if TILES == 32\n"
    "    __asm__ volatile(\"tdpbf16ps %tmm2, %tmm1, %tmm0\");\n"
    "#else\n"
    "    __asm__ volatile(\"tdpbssd %tmm2, %tmm1, %tmm0\");\n"
    "#endif\n"
    "    __asm__ volatile(\"tilestored %%tmm0, (%0,%1,1)\" : : \"r\"(z), \"r\"(64L) : \"memory\");\n"
    "    __asm__ volatile(\"tilerelease\");\n"
    "    f = TILES == 32 ? as_float16(vload16(13, z)) : convert_float16(as_int16(vload16(13, z)));\n"
    "#endif\n"
    "#ifdef BF16\n"
    "    __asm__(\"vdpbf16ps %2, %1, %0\" : \"+v\"(f) : \"v\"(pair), \"v\"(pair));\n"
    "#endif\n"
    "#ifdef SCALE\n"
    "    __asm__(\"vscalefps %2, %1, %0\" : \"=v\"(f) : \"v\"((float16)(3)), \"v\"((float16)(-2)));\n"
    "#endif\n"
    "#ifdef VNNI\n"
    "    __asm__(\"vpdpbusd %2, %1, %0\" : \"+v\"(n) : \"v\"(ubytes), \"v\"(bytes));\n"
    "#endif\n"
    "    vstore16(f, 0, o);\n"
    "    vstore16(convert_float16(as_int16(n)), 1, o);\n"
    "}\n";

typedef struct probe { uint32_t insn; const char *options; int at; float expected; } probe;
static const probe probes[] = {
    { CLPI_INSN_AVX512_BF16, "-D BF16", 0, 5.0f },
    { CLPI_INSN_AVX512_VNNI, "-D VNNI", 16, -248.0f },
    { CLPI_INSN_AVX512_SCALE, "-D SCALE", 0, 0.75f },
    { CLPI_INSN_AMX_BF16, "-D TILES=32", 0, 13.0f * 32 },
    { CLPI_INSN_AMX_INT8, "-D TILES=64", 0, 13.0f * 64 },
};

/* What the program leaves in out, [32]; false: it could not be run. The device's queue may be the caller's, without order or standing
 * still, so it runs in another.                                                                                            */
static bool run_probe(clpi_cl_device *dev, cl_program program, float *out)
{
    const size_t one = 1, n_bytes = 32 * sizeof *out;
    cl_int code;
    cl_command_queue queue = clCreateCommandQueue(dev->context, dev->id, 0, &code);
    cl_kernel kernel = clCreateKernel(program, "probe", &code);
    cl_mem mem = clCreateBuffer(dev->context, CL_MEM_WRITE_ONLY, n_bytes, NULL, &code);
    const bool has_run = queue && kernel && mem && clSetKernelArg(kernel, 0, sizeof mem, &mem) == CL_SUCCESS &&
                         clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL) == CL_SUCCESS &&
                         clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, n_bytes, out, 0, NULL, NULL) == CL_SUCCESS;
    if (mem)
        clReleaseMemObject(mem);
    if (kernel)
        clReleaseKernel(kernel);
    if (queue)
        clReleaseCommandQueue(queue);
    return has_run;
}

/* A compiler that refuses the assembly is an answer. false: there is none, for want of memory or the like. */
static bool try_insn(clpi_cl_device *dev, const probe *p, bool *out_has)
{
    cl_program program;
    float out[32] = { 0 };
    *out_has = false;
    const clp_status status = clpi_cl_build(dev, "probe", probe_text, p->options, &program);
    if (status)
        return status == CLP_ERR_DEVICE;
    const bool has_run = run_probe(dev, program, out);
    clReleaseProgram(program);
    *out_has = has_run;
    for (int i = 0; i < 16; i++)
        *out_has = *out_has && out[p->at + i] == p->expected;
    return has_run;
}

uint32_t clpi_cl_probe_insns(clpi_cl_device *dev, uint32_t insns, bool *out_is_certain)
{
    uint32_t found = 0;
    bool has;
    *out_is_certain = true;
    for (size_t i = 0; i < sizeof probes / sizeof *probes; i++) {
        if (!(insns & probes[i].insn))
            continue;
        *out_is_certain = try_insn(dev, &probes[i], &has) && *out_is_certain;
        found |= has ? probes[i].insn : 0;
    }
    return found;
}

void clpi_cl_find_insns(clpi_cl_device *dev)
{
    uint32_t host = dev->limits.is_cpu && dev->limits.vector_bytes == 64 ? insns_of_host() : 0;
    clpi_str key;
    clpi_arena arena;
    void *kept;
    size_t n;
    if (!host)
        return;
    clpi_str_init(&key, dev->host.env);
    clpi_arena_init(&arena, dev->host.env);
    clpi_cl_put_identity(dev, &key);
    clpi_str_add(&key, "|insns of %u|", (unsigned)host);
    clpi_cl_put_options(dev, "", &key);
    clpi_str_puts(&key, probe_text);
    if (!key.failed && clpi_store_get(&dev->store, key.text, key.n, &arena, &kept, &n) && n == sizeof dev->limits.insns) {
        memcpy(&dev->limits.insns, kept, n);
        dev->limits.insns &= host;
    } else {
        bool is_certain;
        dev->limits.insns = clpi_cl_probe_insns(dev, host, &is_certain);
        if (is_certain && !key.failed)
            clpi_store_put(&dev->store, key.text, key.n, &dev->limits.insns, sizeof dev->limits.insns);
    }
    clpi_arena_done(&arena);
    clpi_str_done(&key);
}
