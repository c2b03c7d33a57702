/* order: which sequence runs i-th.
 * In: an order, a seed, the number of sequences. Out: a permutation of 0 .. n, one value at a time, without memory.
 * Decides the shuffle: a four-round Feistel network on the least even number of bits that holds n, walked along its cycles
 * until the value lies below n. It is a permutation because each round is; equal seeds give equal orders everywhere.    */
#include "interp/interp.h"

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint64_t feistel(uint64_t x, uint64_t seed, unsigned half_bits)
{
    uint64_t mask = (UINT64_C(1) << half_bits) - 1, left = x >> half_bits, right = x & mask;
    for (uint64_t round = 0; round < 4; round++) {
        uint64_t next = left ^ (mix(right + seed + (round + 1) * 0x9e3779b97f4a7c15u) & mask);
        left = right;
        right = next;
    }
    return left << half_bits | right;
}

uint64_t clpi_sequence_at(clp_order order, uint64_t seed, uint64_t n, uint64_t i)
{
    if (order == CLP_ORDER_FORWARD)
        return i;
    if (order == CLP_ORDER_REVERSE)
        return n - 1 - i;
    unsigned half_bits = 1;
    while (half_bits < 32 && (n - 1) >> (2 * half_bits))
        half_bits++;
    do
        i = feistel(i, mix(seed), half_bits);
    while (i >= n);
    return i;
}
