/* amx: Intel's tile instructions on a CPU that has none.
 * In: SIGILL, with the registers of who ran into it. Out: the instruction done on tiles that each thread has of its own, and the
 * thread behind it. What is not such an instruction, or is used wrongly (no configuration, tiles that do not fit together), ends the process as
 * it would without us.                                                                                                    */
#define _GNU_SOURCE
#include "support/amx.h"

#if defined(__linux__) && defined(__x86_64__)
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

enum { N_TILES = 8, MAX_ROWS = 16, ROW_BYTES = 64 };

typedef struct tiles {
    int     is_configured;
    int     rows[N_TILES], bytes[N_TILES];           /* 0: the tile is not there */
    uint8_t data[N_TILES][MAX_ROWS][ROW_BYTES];
} tiles;

static _Thread_local tiles own;

/* ---- Instructions ---- */

static int configure(const uint8_t *from)
{
    memset(&own, 0, sizeof own);
    if (from[0] != 1 || from[1] != 0)
        return 0;
    for (int t = 0; t < N_TILES; t++) {
        own.bytes[t] = from[16 + 2 * t] | from[17 + 2 * t] << 8;
        own.rows[t] = from[48 + t];
        if (own.bytes[t] > ROW_BYTES || own.rows[t] > MAX_ROWS)
            return 0;
    }
    own.is_configured = 1;
    return 1;
}

static int has(int t)
{
    return own.is_configured && own.rows[t] > 0 && own.bytes[t] > 0;
}

static int move(int t, char *at, int64_t stride, int is_load)
{
    if (!has(t))
        return 0;
    for (int r = 0; r < own.rows[t]; r++)
        if (is_load)
            memcpy(own.data[t][r], at + r * stride, (size_t)own.bytes[t]);
        else
            memcpy(at + r * stride, own.data[t][r], (size_t)own.bytes[t]);
    if (is_load)
        for (int r = own.rows[t]; r < MAX_ROWS; r++)
            memset(own.data[t][r], 0, ROW_BYTES);
    return 1;
}

static float of_bf16(const uint8_t *p)
{
    const uint32_t bits = (uint32_t)(p[0] | p[1] << 8) << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* One lane of a product. */
static void add_lane(uint8_t *sum, const uint8_t *x, const uint8_t *y, int is_bf16, int x_is_signed, int y_is_signed)
{
    if (is_bf16) {
        float f;
        memcpy(&f, sum, sizeof f);
        f += of_bf16(x) * of_bf16(y);
        f += of_bf16(x + 2) * of_bf16(y + 2);
        memcpy(sum, &f, sizeof f);
        return;
    }
    uint32_t n;
    memcpy(&n, sum, sizeof n);
    for (int i = 0; i < 4; i++)
        n += (uint32_t)((x_is_signed ? (int8_t)x[i] : x[i]) * (y_is_signed ? (int8_t)y[i] : y[i]));
    memcpy(sum, &n, sizeof n);
}

static int multiply(int c, int a, int b, int is_bf16, int a_is_signed, int b_is_signed)
{
    if (!has(a) || !has(b) || !has(c) || a == b || a == c || b == c || own.rows[c] != own.rows[a] || own.bytes[c] != own.bytes[b] ||
        own.bytes[a] != 4 * own.rows[b])
        return 0;
    for (int r = 0; r < own.rows[c]; r++)
        for (int k = 0; k < own.rows[b]; k++)
            for (int n = 0; n < own.bytes[c] / 4; n++)
                add_lane(own.data[c][r] + 4 * n, own.data[a][r] + 4 * k, own.data[b][k] + 4 * n, is_bf16, a_is_signed, b_is_signed);
    return 1;
}

/* ---- Decoding: three-byte VEX, map 0F38 (SDM volume 2, 2.3) ---- */

static int64_t register_of(const ucontext_t *u, int r)
{
    static const int names[] = { REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                 REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15 };
    return u->uc_mcontext.gregs[names[r]];
}

typedef struct operand { char *at; int64_t index; int n_bytes; } operand;      /* n_bytes: of ModRM and what belongs to it */

/* What ModRM says of memory; index: the register of an index alone, scaled, which is the stride of a tile. */
static operand memory_of(const ucontext_t *u, const uint8_t *modrm, int x, int b, int64_t next)
{
    const int mod = modrm[0] >> 6, rm = modrm[0] & 7;
    operand o = { .n_bytes = 1 };
    int64_t at = 0;
    int has_base = 1, base = rm | b;
    if (rm == 4) {
        const int sib = modrm[o.n_bytes++], index = (sib >> 3 & 7) | x;
        o.index = index == 4 ? 0 : register_of(u, index) * (1 << (sib >> 6));
        base = (sib & 7) | b;
        has_base = !(mod == 0 && (sib & 7) == 5);
    } else if (mod == 0 && rm == 5) {
        has_base = 0;
        at = next + 4;                               /* relative to the next instruction */
    }
    if (has_base)
        at += register_of(u, base);
    if (mod == 1) {
        at += (int8_t)modrm[o.n_bytes];
        o.n_bytes += 1;
    } else if (mod == 2 || !has_base) {
        int32_t far;
        memcpy(&far, modrm + o.n_bytes, sizeof far);
        at += far;
        o.n_bytes += 4;
    }
    o.at = (char *)at;
    return o;
}

/* Does the instruction at `code`; returns its length, 0 if it is none of ours. */
static int execute(const ucontext_t *u, const uint8_t *code)
{
    if (code[0] != 0xc4 || (code[1] & 0x1f) != 2 || (code[2] & 0x84) != 0)
        return 0;
    enum { NONE, P66, PF3, PF2 };
    const int prefix = code[2] & 3, op = code[3], modrm = code[4], reg = modrm >> 3 & 7, rm = modrm & 7, v = ~(code[2] >> 3) & 7;
    const int is_register = modrm >> 6 == 3, x = code[1] & 0x40 ? 0 : 8, b = code[1] & 0x20 ? 0 : 8;
    const operand o = is_register ? (operand){ .n_bytes = 1 } : memory_of(u, code + 4, x, b, (int64_t)(intptr_t)code + 5);
    int is_done = 0;
    if (op == 0x49 && prefix == NONE)
        is_done = is_register ? (memset(&own, 0, sizeof own), 1) : configure((const uint8_t *)o.at);
    else if (op == 0x49 && prefix == PF2 && is_register && has(reg))
        is_done = (memset(own.data[reg], 0, sizeof own.data[reg]), 1);
    else if (op == 0x4b && (prefix == PF2 || prefix == PF3) && !is_register)
        is_done = move(reg, o.at, o.index, prefix == PF2);
    else if (op == 0x5c && prefix == PF3 && is_register)
        is_done = multiply(reg, rm, v, 1, 0, 0);
    else if (op == 0x5e && is_register)
        is_done = multiply(reg, rm, v, 0, prefix == PF2 || prefix == PF3, prefix == PF2 || prefix == P66);
    return is_done ? 4 + o.n_bytes : 0;
}

static void on_illegal(int signal_number, siginfo_t *info, void *context)
{
    (void)info;
    ucontext_t *u = context;
    const int length = execute(u, (const uint8_t *)u->uc_mcontext.gregs[REG_RIP]);
    if (length)
        u->uc_mcontext.gregs[REG_RIP] += length;
    else
        signal(signal_number, SIG_DFL);              /* it happens again, and ends the process */
}

int amx_emulate(void)
{
    struct sigaction action = { .sa_sigaction = on_illegal, .sa_flags = SA_SIGINFO };
    sigemptyset(&action.sa_mask);
    return sigaction(SIGILL, &action, NULL) == 0;
}
#else
int amx_emulate(void)
{
    return 0;
}
#endif
