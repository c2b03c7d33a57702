// prelude: what OpenCL C lacks, or leaves to the device, of the language's operations on single values.
//
// A template, read by prelude.c: only what a kernel uses is written out, once for each dtype and number of lanes. A
// section begins with a line
//
//     //# name dtypes [< dtypes of the argument] [when conditions]
//
// and runs to the next. The first whose dtypes and conditions fit is taken; f16, bf16 and the f8 types fall back on f32, which
// holds them. dtypes may be ints (sints, uints), floats (f32 f64), small (f16 f8e4m3 f8e5m2), all. Conditions: scalar, vector;
// fast: `math fast`; correct: / and sqrt of f32 are correctly rounded by the device; fp64; vscalef: 16 lanes, and AVX-512's instruction.
// A section that is named like one of elementary.h stands in for it.
//
// A text that starts with = is an expression of $a $b $c, written in place; others are functions. In both:
//
//     $f  the function's name     $T  the type (float16)          $U $I  unsigned and signed integers as wide, as many
//     $w  the lanes               $S  the stored type             $M     masks as wide (int when scalar)
//     $F $J  like $T and $I, of the argument's dtype of a cast or of bool's mask       $D  double, as many
//     $lo $hi  least and largest of an integer dtype; $beyond: $hi + 1 as a float of type $F; $flo $fhi: $lo, $hi likewise
//     $drop $least $magic $max $over $bias   of a small float: mantissa bits it has not, least normal, 2^23 of its smallest steps,
//         largest, bits of what lies beyond, difference of exponents' biases in its own bits
//     $element $halves   of reductions: the type of one lane; statements that fold v in halves, down to it
//     @name(..)      that section's function or expression for the same dtype and lanes; @name:dtype(..) for another dtype,
//                     @name/2(..) for half the lanes
//
// Scalars and vectors share a text where they can: c ? x : y takes the sign bit of each lane in vectors and c != 0 in scalars,
// so any comparison does; (float16)(x) spreads x, and (float)(x) converts it.
//
// Mesa 22.3 makes of a choice between an i8 that is widened to int and a constant one between 8 and 16 bits, which crashes its compiler or
// gives anything. So integers that may be i8 are chosen by @select(c, x, y), for in c ? x : y the language widens scalars; and casts
// of i8 to wider scalars shift the sign into place, which other compilers know to be the same. Likewise of a choice between a small integer
// that is cast to f32 and a constant: it takes the constant's bits as an f16 for the integer. And it compares an int that is widened to i64
// with a constant by the constant's sign alone, unless the sign was shifted into place or the int was unsigned.

//# divide f32 when fast
= $a / $b
//# divide f32 when correct
= $a / $b
//# divide f32 when fp64
= convert_$T(convert_$D($a) / convert_$D($b))
//# divide f32
/* Correctly rounded, whatever the device's own division does: significands in [1, 2) give a quotient cut to 24 bits and
 * the sign of its exact remainder; the result is put together, and rounded once, in integers. */
$T $f($T a, $T b)
{
    $U ma = as_$U(a) & 0x7fffffffu, mb = as_$U(b) & 0x7fffffffu;
    $U na = clz(ma | 1u) - 8u, nb = clz(mb | 1u) - 8u;
    $I a_small = ma < ($U)(0x800000u), b_small = mb < ($U)(0x800000u);
    $U fa = a_small ? ma << (na & 31u) : ma, fb = b_small ? mb << (nb & 31u) : mb;
    $I ea = a_small ? ($I)(1) - as_$I(na) : as_$I(ma >> 23), eb = b_small ? ($I)(1) - as_$I(nb) : as_$I(mb >> 23);
    $T x = as_$T((fa & 0x7fffffu) | 0x3f800000u), y = as_$T((fb & 0x7fffffu) | 0x3f800000u);
    $T q = x / y;
    q = fma(fma(-q, y, x), 1.0f / y, q);
    q = fma(-q, y, x) < ($T)(0.0f) ? as_$T(as_$U(q) - 1u) : q;
    $T rest = fma(-q, y, x);
    $I below_one = q < ($T)(1.0f);
    $I up = rest * (below_one ? ($T)(33554432.0f) : ($T)(16777216.0f)) > y;
    $U n = (as_$U(q) & 0x7fffffu) | 0x800000u;
    $I e = ea - eb + (below_one ? ($I)(126) : ($I)(127));
    $U normal = (as_$U(e) << 23) + (n - 0x800000u) + (up ? ($U)(1u) : ($U)(0u));
    normal = e >= ($I)(255) ? ($U)(0x7f800000u) : normal;
    $U shift = as_$U(clamp(($I)(1) - e, ($I)(1), ($I)(25)));
    $U cut = n >> shift, lost = n & ((($U)(1u) << shift) - 1u), half_step = ($U)(1u) << (shift - 1u);
    $I up_small = (lost > half_step) | ((lost == half_step) & ((rest > ($T)(0.0f)) | ((cut & 1u) != ($U)(0u))));
    $U small = cut + (up_small ? ($U)(1u) : ($U)(0u));
    $U bits = (e <= ($I)(0) ? small : normal) | ((as_$U(a) ^ as_$U(b)) & 0x80000000u);
    $I special = (ma >= ($U)(0x7f800000u)) | (mb >= ($U)(0x7f800000u)) | (ma == ($U)(0u)) | (mb == ($U)(0u));
    return special ? a / b : as_$T(bits);
}
//# divide f64
= $a / $b
//# divide sints
/* Rounds down; by zero: -1; the least by -1: itself. */
$T $f($T a, $T b)
{
    $T by = @select((b == ($T)(0)) | (b == ($T)(-1)), ($T)(1), b);
    $T q = a / by, r = a - q * by;
    q = @select((r != ($T)(0)) & ((r ^ by) < ($T)(0)), ($T)(q - ($T)(1)), q);
    q = @select(b == ($T)(-1), as_$T(($U)(-as_$U(a))), q);
    return @select(b == ($T)(0), ($T)(-1), q);
}
//# divide uints
= @div($a, $b)
//# div sints
/* Truncates; by zero: -1; the least by -1: itself. */
$T $f($T a, $T b)
{
    $T q = a / (@select((b == ($T)(0)) | (b == ($T)(-1)), ($T)(1), b));
    q = @select(b == ($T)(-1), as_$T(($U)(-as_$U(a))), q);
    return @select(b == ($T)(0), ($T)(-1), q);
}
//# div uints
/* By zero: all ones. */
$T $f($T a, $T b)
{
    $T q = a / (b == ($T)(0) ? ($T)(1) : b);
    return b == ($T)(0) ? ($T)(~($T)(0)) : q;
}
//# mod floats
/* The sign of b; zeros too. */
$T $f($T a, $T b)
{
    $T r = @rem(a, b);
    $T moved = (r < ($T)(0)) != (b < ($T)(0)) ? r + b : r;
    return r == ($T)(0) ? copysign(r, b) : moved;
}
//# mod sints
/* The sign of b; by zero: a. */
$T $f($T a, $T b)
{
    $T by = @select((b == ($T)(0)) | (b == ($T)(-1)), ($T)(1), b);
    $T r = a % by;
    r = @select((r != ($T)(0)) & ((r ^ by) < ($T)(0)), ($T)(r + by), r);
    return @select(b == ($T)(0), a, r);
}
//# mod uints
= @rem($a, $b)
//# rem f64 when vector
/* Lane by lane: for vectors the implementation that PoCL calls is wrong for large quotients. */
$T $f($T a, $T b)
{
    return ($T)(@rem/2(a.lo, b.lo), @rem/2(a.hi, b.hi));
}
//# rem floats
= fmod($a, $b)
//# rem sints
/* The sign of a; by zero: a. */
$T $f($T a, $T b)
{
    $T r = a % (@select((b == ($T)(0)) | (b == ($T)(-1)), ($T)(1), b));
    return @select(b == ($T)(0), a, r);
}
//# rem uints
/* By zero: a. */
$T $f($T a, $T b)
{
    $T r = a % (b == ($T)(0) ? ($T)(1) : b);
    return b == ($T)(0) ? a : r;
}
//# abs floats
= fabs($a)
//# abs sints
= as_$T(abs($a))
//# abs uints
= $a
//# sign floats
$T $f($T a)
{
    return a > ($T)(0) ? ($T)(1) : (a < ($T)(0) ? ($T)(-1) : a);
}
//# sign ints
$T $f($T a)
{
    return @select(a > ($T)(0), ($T)(1), @select(a < ($T)(0), ($T)(-1), ($T)(0)));
}
//# min floats
/* NaN if either is. The comparison keeps a then; what looks at b does not wait for a, which is often the result before. Not `b : least`:
 * compilers would make one choice of the two, and no minimum. */
$T $f($T a, $T b)
{
    $T least = b < a ? b : a;
    return b != b ? ($T)(NAN) : least;
}
//# min ints
= min($a, $b)
//# max floats
/* NaN if either is, as in min. */
$T $f($T a, $T b)
{
    $T most = b > a ? b : a;
    return b != b ? ($T)(NAN) : most;
}
//# max ints
= max($a, $b)
//# fma floats
= fma($a, $b, $c)
//# not bool when scalar
= !$a
//# not all
= ~$a
//# shl ints
/* 0 from the width on. */
$T $f($T a, $T b)
{
    $U n = as_$U(b);
    return @select(n < ($U)($bits), as_$T(($U)(as_$U(a) << (n & ($U)($bits - 1)))), ($T)(0));
}
//# shr sints
/* The sign from the width on. */
$T $f($T a, $T b)
{
    return a >> as_$T(min(as_$U(b), ($U)($bits - 1)));
}
//# shr uints
/* 0 from the width on. */
$T $f($T a, $T b)
{
    return b < ($T)($bits) ? ($T)(a >> (b & ($T)($bits - 1))) : ($T)(0);
}
//# popcount ints
= popcount($a)
//# clz ints
= clz($a)

//# eq all
= $a == $b
//# ne all
= $a != $b
//# lt all
= $a < $b
//# le all
= $a <= $b
//# gt all
= $a > $b
//# ge all
= $a >= $b
//# select i8 when scalar
= select($c, $b, ($T)($a))
//# select all
= $a ? $b : $c
//# isnan floats
= isnan($a)
//# isinf floats
= isinf($a)
//# isfinite floats
= isfinite($a)

//# floor floats
= floor($a)
//# ceil floats
= ceil($a)
//# trunc floats
= trunc($a)
//# round floats
= round($a)
//# rint floats
= rint($a)

//# sqrt f32 when fast
= sqrt($a)
//# sqrt f32 when correct
= sqrt($a)
//# sqrt f32 when fp64
= convert_$T(sqrt(convert_$D($a)))
//# sqrt f32
/* Correctly rounded, whatever the device's own does: a root in [1, 2) and its exact remainder. */
$T $f($T a)
{
    $U m = as_$U(a), n = clz(m | 1u) - 8u;
    $I is_small = m < ($U)(0x800000u);
    $U f = is_small ? m << (n & 31u) : m;
    $I e = (is_small ? ($I)(1) - as_$I(n) : as_$I(m >> 23)) - 127;
    $I odd = e & 1;
    $T x = as_$T((f & 0x7fffffu) | 0x3f800000u);
    x = odd != ($I)(0) ? x + x : x;
    $T s = sqrt(x);
    s = fma(fma(-s, s, x), 0.5f / s, s);
    $T rest = fma(-s, s, x), step = s * 1.1920929e-07f;
    s = rest > step ? as_$T(as_$U(s) + 1u) : (rest <= -step ? as_$T(as_$U(s) - 1u) : s);
    $T root = as_$T(as_$I(s) + (((e - odd) >> 1) << 23));
    return (m - 1u) < ($U)(0x7f7fffffu) ? root : sqrt(a);
}
//# sqrt f64
= sqrt($a)
//# rsqrt floats when fast
= rsqrt($a)
//# rsqrt floats
= @divide(($T)(1.0f), @sqrt($a))
//# cbrt floats
= cbrt($a)
//# exp f64
= exp($a)
//# exp2 f64
= exp2($a)
//# expm1 floats
= expm1($a)
//# log f64
= log($a)
//# log2 f64
= log2($a)
//# log1p floats
= log1p($a)
//# sin f64
= sin($a)
//# cos f64
= cos($a)
//# tan f32
/* Devices' own are known to be wrong near zero. */
$T $f($T a)
{
    return @divide(@sin(a), @cos(a));
}
//# tan f64
= tan($a)
//# asin floats
= asin($a)
//# acos floats
= acos($a)
//# atan floats
= atan($a)
//# sinh floats
= sinh($a)
//# cosh floats
= cosh($a)
//# tanh f64
= tanh($a)
//# asinh floats
= asinh($a)
//# acosh floats
= acosh($a)
//# atanh floats
= atanh($a)
//# erf f64
= erf($a)
//# pow f64 when vector
/* Lane by lane: for vectors the implementation that PoCL calls is wrong for small a. */
$T $f($T a, $T b)
{
    return ($T)(@pow/2(a.lo, b.lo), @pow/2(a.hi, b.hi));
}
//# pow floats
= pow($a, $b)
//# atan2 floats
= atan2($a, $b)
//# copysign floats
= copysign($a, $b)
//# nextafter f16 bf16
/* A step in the stored bits. */
$T $f($T a, $T b)
{
    $U u = convert_$U(@pack(a)), sign = (as_$U(b) >> 16) & 0x8000u;
    $U next = ((a < b) == (a > ($T)(0.0f))) ? u + 1u : u - 1u;
    next = a == ($T)(0.0f) ? sign | 1u : next;
    $T r = a == b ? b : @unpack(convert_$S(next));
    return ((a != a) | (b != b)) ? a + b : r;
}
//# nextafter f32
/* A step in the bits: from zero the device's own goes to the least normal number where it keeps no subnormals. */
$T $f($T a, $T b)
{
    $U u = as_$U(a), sign = as_$U(b) & 0x80000000u;
    $U next = ((a < b) == (a > ($T)(0.0f))) ? u + 1u : u - 1u;
    next = a == ($T)(0.0f) ? sign | 1u : next;
    $T r = a == b ? b : as_$T(next);
    return ((a != a) | (b != b)) ? a + b : r;
}
//# nextafter f64
= nextafter($a, $b)

//# round_to f16 f8e4m3 f8e5m2
/* The nearest value of the dtype, ties to even; below the least normal, adding and taking away $magic rounds. */
$T $f($T x)
{
    $U sign = as_$U(x) & 0x80000000u, u = as_$U(x) & 0x7fffffffu;
    $T a = as_$T(u);
    $U normal = (u + ((u >> $drop) & 1u) + ((1u << ($drop - 1)) - 1u)) & ~((1u << $drop) - 1u);
    $U r = a < ($T)($least) ? as_$U((a + $magic) - $magic) : normal;
    r = r > as_$U(($T)($max)) ? ($U)($over) : r;
    r = u > ($U)(0x7f800000u) ? ($U)(0x7fc00000u) : r;
    return as_$T(sign | r);
}
//# round_to bf16
/* The nearest value of the dtype, ties to even. */
$T $f($T x)
{
    $U u = as_$U(x);
    $U r = (u + 0x7fffu + ((u >> 16) & 1u)) & 0xffff0000u;
    return as_$T(x != x ? ($U)(0x7fc00000u) : r);
}
//# pack f16 f8e4m3 f8e5m2
/* The stored bits of one of the dtype's values. */
$S $f($T x)
{
    $U sign = (as_$U(x) >> $signshift) & $signbit, u = as_$U(x) & 0x7fffffffu;
    $T a = as_$T(u);
    $U finite = a < ($T)($least) ? as_$U(a + $magic) & ((1u << (23 - $drop)) - 1u) : (u >> $drop) - $bias;
    $U r = u >= ($U)(0x7f800000u) ? (u > ($U)(0x7f800000u) ? ($U)($nanbits) : ($U)($infbits)) : finite;
    return convert_$S(sign | r);
}
//# pack bf16
= convert_$S(as_$U($a) >> 16)
//# unpack f16 f8e4m3 f8e5m2
$T $f($S x)
{
    $U bits = convert_$U(x), sign = (bits & $signbit) << $signshift, u = bits & ($signbit - 1u);
    $T small = as_$T(as_$U(($T)($magic)) | u) - $magic;
    $U r = u < ($U)(1u << (23 - $drop)) ? as_$U(small) : (u + $bias) << $drop;
    r = u >= ($U)($infbits) ? (u == ($U)($infbits) ? ($U)($over) : ($U)(0x7fc00000u)) : r;
    return as_$T(sign | r);
}
//# unpack bf16
= as_$T(convert_$U($a) << 16)

//# to_odd f32
/* A double as a float, inexact ones with the last bit set: rounding that to fewer bits is as good as rounding a. */
$T $f($D a)
{
    $T f = convert_$T(a);
    $D back = convert_$D(f);
    $I u = as_$I(f);
    u = convert_$I(fabs(back) > fabs(a)) ? u - 1 : u;
    return as_$T(convert_$I(back != a) ? u | 1 : u);
}
//# cast bool < all
= $a != ($F)(0)
//# cast i64 < bool when scalar
= (long)(uint)$a
//# cast all < bool when scalar
= convert_$T($a)
//# cast all < bool
= convert_$T(-$a)
//# cast i16 u16 i32 u32 < i8 when scalar
= ($T)(((int)as_uchar($a) << 24) >> 24)
//# cast i64 < i8 i16 i32 when scalar
/* The sign is shifted into place: Mesa 22.3 gets comparisons of what is only widened wrong. */
$T $f($F a)
{
    return ((long)a << 32) >> 32;
}
//# cast i64 < i8 i16 i32
= (convert_$T($a) << ($T)(32)) >> ($T)(32)
//# cast ints < ints
= convert_$T($a)
//# cast f32 < i8 when scalar
= convert_$T(((int)as_uchar($a) << 24) >> 24)
//# cast f32 < u8 when scalar
= convert_$T(((uint)$a << 24) >> 24)
//# cast f32 < i16 when scalar
= convert_$T(((int)as_ushort($a) << 16) >> 16)
//# cast f32 < u16 when scalar
= convert_$T(((uint)$a << 16) >> 16)
//# cast floats < ints
= convert_$T($a)
//# cast f16 bf16 f8e4m3 f8e5m2 < ints
= @round_to(convert_$T($a))
//# cast f16 bf16 f8e4m3 f8e5m2 < f32
= @round_to($a)
//# cast f16 bf16 f8e4m3 f8e5m2 < f64
= @round_to(@to_odd:f32($a))
//# cast floats < floats
= convert_$T($a)
//# cast i8 u8 i16 u16 < floats
/* Truncates and saturates; NaN gives 0. */
$T $f($F a)
{
    $F x = a > ($F)($fhi) ? ($F)($fhi) : (a < ($F)($flo) ? ($F)($flo) : a);
    return convert_$T(a != a ? ($F)(0) : x);
}
//# cast i32 u32 < f64
/* Truncates and saturates; NaN gives 0. */
$T $f($F a)
{
    $F x = a > ($F)($fhi) ? ($F)($fhi) : (a < ($F)($flo) ? ($F)($flo) : a);
    return convert_$T(a != a ? ($F)(0) : x);
}
//# cast ints < floats
/* Truncates and saturates; NaN gives 0. Mesa 22.3 gets the sign of a mask just widened wrong; compared with 0 it is right. */
$T $f($F a)
{
    $T r = convert_$T(((a >= ($F)($flo)) & (a < ($F)($beyond))) ? a : ($F)(0));
    r = convert_$M(a >= ($F)($beyond)) != ($M)(0) ? ($T)($hi) : r;
    return convert_$M(a < ($F)($flo)) != ($M)(0) ? ($T)($lo) : r;
}

//# erf_inv f64
/* Newton's steps on erfc beyond 1/2 and on erf below it, from the f32 function; near 1 what counts is 1 - |a|. */
$T $f($T a)
{
    $T size = fabs(a), rest = 1.0 - size;
    $T y = rest > ($T)(1e-7) ? fabs(convert_$T(@erf_inv:f32(convert_$single(a)))) : sqrt(-log(rest));
    for (int i = 0; i < 8; i++) {
        $T e = rest < ($T)(0.5) ? rest - erfc(y) : erf(y) - size;
        $T step = e * 0.88622692545275801365 * exp(y * y); /* sqrt(pi) / 2 */
        $T next = y - step / (1.0 + step * y);
        y = ((rest <= ($T)(1e-7)) | (($T)((double)i) < ($T)(3.0))) ? next : y;
    }
    y = rest > ($T)(0.0) ? y : (rest == ($T)(0.0) ? ($T)(INFINITY) : ($T)(NAN));
    return copysign(y, a);
}

//# fold all
/* All lanes into one, halves first. */
$element $f($T v)
{
$halves}

//# prefers floats
/* Whether b takes the place of a as the greater: the first NaN, else the greater, else the one with the lower index. */
int $f($T a, int a_index, $T b, int b_index)
{
    int lower = convert_int(b_index < a_index);
    return a != a ? ((b != b) & lower) : (b != b) | (b > a) | ((b == a) & lower);
}
//# prefers ints
/* Whether b takes the place of a as the greater: the greater, else the one with the lower index. */
int $f($T a, int a_index, $T b, int b_index)
{
    return (b > a) | ((b == a) & convert_int(b_index < a_index));
}
//# prefers_less floats
/* Whether b takes the place of a as the less: the first NaN, else the less, else the one with the lower index. */
int $f($T a, int a_index, $T b, int b_index)
{
    int lower = convert_int(b_index < a_index);
    return a != a ? ((b != b) & lower) : (b != b) | (b < a) | ((b == a) & lower);
}
//# prefers_less ints
/* Whether b takes the place of a as the less: the less, else the one with the lower index. */
int $f($T a, int a_index, $T b, int b_index)
{
    return (b < a) | ((b == a) & convert_int(b_index < a_index));
}

//# claim u32
/* The place of n words in a log, which are the caller's then; 0: it is full. What finds no room says so for good, by a count past the end,
 * and nothing is counted from there on: however many ask, the count comes round to no place that is somebody's. */
uint $f(volatile __global uint *log, uint n)
{
    const uint size = log[1];
    uint at = log[0], seen;
    do {
        seen = at;
        at = atomic_cmpxchg(log, seen, n <= size && seen <= size - n ? seen + n : size + 1u);
    } while (at != seen);
    return n <= size && at <= size - n ? at : 0u;
}
//# fetch u8
/* The line at p comes closer, and nobody waits for it. What OpenCL has for it does nothing in PoCL, whose compiler has something else. */
void $f(__global const void *p)
{
#if defined(__x86_64__) || defined(__aarch64__)
    __builtin_prefetch((const void *)(ulong)p);
#else
    prefetch((__global const uchar *)p, 1);
#endif
}
//# stream all
/* Past the caches: the line is written whole, and not fetched before. */
void $f(__global void *p, $S v)
{
#ifndef __has_builtin
#define __has_builtin(x) 0
#endif
#if __has_builtin(__builtin_nontemporal_store)
    __builtin_nontemporal_store(v, (__global $S *)p);
#else
    *(__global $S *)p = v;
#endif
}
//# drain u8
/* What this work-item has stored past the caches is there for whoever looks after what it stores next: on x86 such stores keep no order
 * otherwise, and a runtime that says that a group is done need not know of them. */
void $f(int is_far)
{
#if defined(__x86_64__) && defined(__has_builtin)
#if __has_builtin(__builtin_ia32_sfence)
    if (is_far)
        __builtin_ia32_sfence();
#endif
#endif
}
//# raise f32 when vscalef
/* As in elementary.h: p 2^n, rounded once. One instruction for two products and what makes their factors: an exp takes 2.9 ns of 3.6. */
$T $f($T p, $T t)
{
    $T n = t - ($T)(0x1.8001fcp23f);
    __asm__("vscalefps %1, %0, %0" : "+v"(p) : "v"(n));
    return p;
}
//# dot_bf16 f32
/* sum + x.lo * y.lo + x.hi * y.hi, bf16 in the halves of each lane; takes subnormals for zeros (AVX512-BF16). */
$T $f($T sum, $U x, $U y)
{
    __asm__("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(x), "v"(y));
    return sum;
}
//# dot_ubyte_byte u32
/* sum + the four products of each lane's bytes, those of x unsigned, those of y signed (AVX512-VNNI). */
$T $f($T sum, $T x, $T y)
{
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(x), "v"(y));
    return sum;
}
//# dot_byte_ubyte u32
/* The same, those of x signed, those of y unsigned. */
$T $f($T sum, $T x, $T y)
{
    __asm__("vpdpbusd %1, %2, %0" : "+v"(sum) : "v"(x), "v"(y));
    return sum;
}

//# nibble i4
char $f(__global const uchar *p, long i)
{
    return (char)(((p[i >> 1] >> (int)((i & 1) * 4) & 15) ^ 8) - 8);
}
//# nibble u4
uchar $f(__global const uchar *p, long i)
{
    return (uchar)(p[i >> 1] >> (int)((i & 1) * 4) & 15);
}
//# nibble_store u4
/* Through the aligned word around the byte: clearing and setting touch no bit of a neighbour. */
void $f(__global uchar *p, long i, uchar value)
{
    ulong at = (ulong)(p + (i >> 1));
    volatile __global uint *word = (volatile __global uint *)(at & ~3ul);
    uint shift = (uint)(at & 3ul) * 8u + (uint)(i & 1) * 4u;
    atomic_and(word, ~(15u << shift));
    atomic_or(word, (uint)(value & 15) << shift);
}

//# atomic_add i32 u32
= atomic_add($a, $b)
//# atomic_min i32 u32
= atomic_min($a, $b)
//# atomic_max i32 u32
= atomic_max($a, $b)
//# atomic_and i32 u32
= atomic_and($a, $b)
//# atomic_or i32 u32
= atomic_or($a, $b)
//# atomic_xor i32 u32
= atomic_xor($a, $b)
//# atomic_xchg i32 u32 f32
= atomic_xchg($a, $b)
//# atomic_cas i32 u32
= atomic_cmpxchg($a, $b, $c)
//# atomic_add f32
float $f(volatile $space float *p, float v)
{
    volatile $space uint *word = (volatile $space uint *)p;
    uint old = *word, seen;
    do {
        seen = old;
        old = atomic_cmpxchg(word, seen, as_uint(as_float(seen) + v));
    } while (old != seen);
    return as_float(old);
}
//# atomic_min f32
float $f(volatile $space float *p, float v)
{
    volatile $space uint *word = (volatile $space uint *)p;
    uint old = *word, seen;
    do {
        seen = old;
        old = atomic_cmpxchg(word, seen, as_uint(@min(as_float(seen), v)));
    } while (old != seen);
    return as_float(old);
}
//# atomic_max f32
float $f(volatile $space float *p, float v)
{
    volatile $space uint *word = (volatile $space uint *)p;
    uint old = *word, seen;
    do {
        seen = old;
        old = atomic_cmpxchg(word, seen, as_uint(@max(as_float(seen), v)));
    } while (old != seen);
    return as_float(old);
}
//# atomic_cas f32
float $f(volatile $space float *p, float expected, float v)
{
    return as_float(atomic_cmpxchg((volatile $space uint *)p, as_uint(expected), as_uint(v)));
}
//# atomic_add i64 u64
= atom_add($a, $b)
//# atomic_min i64 u64
= atom_min($a, $b)
//# atomic_max i64 u64
= atom_max($a, $b)
//# atomic_and i64 u64
= atom_and($a, $b)
//# atomic_or i64 u64
= atom_or($a, $b)
//# atomic_xor i64 u64
= atom_xor($a, $b)
//# atomic_xchg i64 u64
= atom_xchg($a, $b)
//# atomic_cas i64 u64
= atom_cmpxchg($a, $b, $c)
//# atomic_add f64
double $f(volatile $space double *p, double v)
{
    volatile $space ulong *word = (volatile $space ulong *)p;
    ulong old = *word, seen;
    do {
        seen = old;
        old = atom_cmpxchg(word, seen, as_ulong(as_double(seen) + v));
    } while (old != seen);
    return as_double(old);
}
//# atomic_min f64
double $f(volatile $space double *p, double v)
{
    volatile $space ulong *word = (volatile $space ulong *)p;
    ulong old = *word, seen;
    do {
        seen = old;
        old = atom_cmpxchg(word, seen, as_ulong(@min(as_double(seen), v)));
    } while (old != seen);
    return as_double(old);
}
//# atomic_max f64
double $f(volatile $space double *p, double v)
{
    volatile $space ulong *word = (volatile $space ulong *)p;
    ulong old = *word, seen;
    do {
        seen = old;
        old = atom_cmpxchg(word, seen, as_ulong(@max(as_double(seen), v)));
    } while (old != seen);
    return as_double(old);
}
//# atomic_xchg f64
double $f(volatile $space double *p, double v)
{
    return as_double(atom_xchg((volatile $space ulong *)p, as_ulong(v)));
}
//# atomic_cas f64
double $f(volatile $space double *p, double expected, double v)
{
    return as_double(atom_cmpxchg((volatile $space ulong *)p, as_ulong(expected), as_ulong(v)));
}
//# alone_xchg all
$T $f($T *p, $T v)
{
    $T old = *p;
    *p = v;
    return old;
}
//# alone_cas floats
$T $f($T *p, $T expected, $T v)
{
    $T old = *p;
    *p = as_$U(old) == as_$U(expected) ? v : old;
    return old;
}
//# alone_cas all
$T $f($T *p, $T expected, $T v)
{
    $T old = *p;
    *p = @select(old == expected, v, old);
    return old;
}
//# alone all
$T $f($T *p, $T v)
{
    $T old = *p;
    *p = $combine;
    return old;
}
