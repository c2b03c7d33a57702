/* elementary: exp exp2 log log2 tanh erf sin cos erf_inv of f32, written once for C and OpenCL C.
 *
 * The text is compiled into the interpreter and embedded in the code for devices, for scalars and for vectors of any width:
 * the results have equal bits because it uses nothing but + - *, fma, conversions of small integers and integer operations.
 * No branches on values (but one, below), no tables, no division; the compiler must not contract or reassociate.
 *
 * There is no include guard and nothing is included: who includes this file, or prints it, defines first
 *
 *              C                             OpenCL C, 16 lanes          what
 *     FN       static inline                 (nothing)                   in front of each function
 *     NAME(f)  clpi_##f##_f32                f##_f32x16                  its name
 *     F I U    float int32_t uint32_t        float16 int16 uint16        types
 *     K(c)     (c)                           ((float16)(c))              a float constant in every lane
 *     AS_F AS_U AS_I                         as_float16 ...              the bits as F, U, I (AS_I: of a U)
 *     TO_F(i)  (float)(i)                    convert_float16(i)          value of an I
 *     FMA      fmaf                          fma
 *     SQRT     sqrtf                         sqrt                        erf_inv alone has it; equal bits if it is rounded well
 *     MULHI    high half of u * u            mul_hi                      of two U
 *     SELECT(c, a, b)                        (c) ? (a) : (b)             a where c, else b; c is a comparison; F or U
 *     ANY(c)   1                             any(c); one lane: c         false only where c is false in all lanes; 1 will do
 *     INFINITY NAN                           (built in)
 *
 * In C, ANY is 1: both sides are computed, so that loops become vector code. A function begins at its mark, which names
 * the functions it calls, and ends at the next mark. Whoever needs some of them only takes those, in the order of the file.
 *
 * Worst errors over all arguments, in ulp of the correct result (test_elementary.c holds them):
 *     exp 0.90   exp2 0.90   log 0.95   log2 0.95   tanh 1.37   erf 1.14   sin 1.50   cos 1.50   erf_inv 8
 *
 * NaN gives NaN. Where a device flushes subnormals they count as zeros of their sign.                                   */

/*@ raise: */
/* p 2^n, of t = 0x1.8001fcp23 + n, which has n + 254 in its low bits: n and twice the bias of an exponent. 2^n is applied in two
 * halves, so that the last product rounds a subnormal result, or overflows, once: n + 254 is moved to where exponents stand; half
 * of it makes the first factor, and what is left the second.                                                                 */
FN F NAME(raise)(F p, F t)
{
    U u = AS_U(t);
    U first = (u << 22u) & 0x7f800000u;
    return p * AS_F(first) * AS_F((u << 23u) - first);
}

/*@ exp_parts: */
/* e^y = e^r 2^n with |r| <= ln2 / 2: returns e^r, gives t = n + magic. Adding 1.5 * 2^23, and an integer that is of use there, leaves
 * n in the low bits.                                                                                                         */
FN F NAME(exp_parts)(F y, F magic, F *out_t)
{
    F t = FMA(y, K(0x1.715476p0f), magic);
    F n = t - magic;
    F r = FMA(n, K(-0x1.62e43p-1f), y);
    r = FMA(n, K(0x1.05c61p-29f), r);
    F p = FMA(K(0x1.6ac324p-10f), r, K(0x1.123ec2p-7f));
    p = FMA(p, r, K(0x1.55585p-5f));
    p = FMA(p, r, K(0x1.55548ap-3f));
    p = FMA(p, r, K(0x1.fffffcp-2f));
    p = FMA(p, r, K(1.0f));
    *out_t = t;
    return FMA(p, r, K(1.0f));
}

/*@ exp: exp_parts raise */
FN F NAME(exp)(F x)
{
    F highest = K(89.0f), lowest = K(-104.0f), t;
    F y = SELECT(x > highest, highest, x);
    y = SELECT(y < lowest, lowest, y);
    F p = NAME(exp_parts)(y, K(0x1.8001fcp23f), &t);
    return NAME(raise)(p, t);
}

/*@ exp2_parts: */
/* Likewise 2^y = 2^r 2^n with |r| <= 1/2. */
FN F NAME(exp2_parts)(F y, F magic, F *out_t)
{
    F t = y + magic;
    F r = y - (t - magic);
    F p = FMA(K(0x1.4bdd6ap-13f), r, K(0x1.5fbccep-10f));
    p = FMA(p, r, K(0x1.3b21cap-7f));
    p = FMA(p, r, K(0x1.c6ada8p-5f));
    p = FMA(p, r, K(0x1.ebfbe6p-3f));
    p = FMA(p, r, K(0x1.62e432p-1f));
    *out_t = t;
    return FMA(p, r, K(1.0f));
}

/*@ exp2: exp2_parts raise */
FN F NAME(exp2)(F x)
{
    F highest = K(129.0f), lowest = K(-151.0f), t;
    F y = SELECT(x > highest, highest, x);
    y = SELECT(y < lowest, lowest, y);
    F p = NAME(exp2_parts)(y, K(0x1.8001fcp23f), &t);
    return NAME(raise)(p, t);
}

/*@ log_split: */
/* x = 2^k (1 + f) with 2/3 <= 1 + f < 4/3, for x > 0, subnormals included. Returns f, exactly. */
FN F NAME(log_split)(F x, F *out_k)
{
    F raised = x * K(0x1p23f), zero = K(0.0f), lowered = K(-23.0f);
    F y = SELECT(x < K(0x1p-126f), raised, x);
    F k = SELECT(x < K(0x1p-126f), lowered, zero);
    U u = AS_U(y) - 0x3f2aaaabu; /* the bits of 2/3 */
    *out_k = k + TO_F(AS_I(u) >> 23);
    return AS_F(AS_U(y) - (u & 0xff800000u)) - K(1.0f);
}

/*@ log_edges: */
/* y, a logarithm of x > 0, made right for the other x. */
FN F NAME(log_edges)(F x, F y)
{
    F itself = x + x, least = K(-INFINITY), none = K(NAN);
    y = SELECT(x < K(INFINITY), y, itself);
    y = SELECT(x == K(0.0f), least, y);
    return SELECT(x < K(0.0f), none, y);
}

/*@ log: log_split log_edges */
FN F NAME(log)(F x)
{
    F k;
    F f = NAME(log_split)(x, &k);
    F q = FMA(K(-0x1.ff9e7ep-4f), f, K(0x1.1ff1fap-3f));
    q = FMA(q, f, K(-0x1.f6b662p-4f));
    q = FMA(q, f, K(0x1.1e827cp-3f));
    q = FMA(q, f, K(-0x1.557e26p-3f));
    q = FMA(q, f, K(0x1.99d58cp-3f));
    q = FMA(q, f, K(-0x1.ffff94p-3f));
    q = FMA(q, f, K(0x1.5554fap-2f));
    q = FMA(q, f, K(-0.5f));
    F r = FMA(f * f, q, f);
    r = FMA(k, K(-0x1.05c61p-29f), r);
    r = FMA(k, K(0x1.62e43p-1f), r);
    return NAME(log_edges)(x, r);
}

/*@ log2: log_split log_edges */
/* f / ln2 takes two constants, and what k + f / ln2 loses is added back: k and f cancel where k is -1 or 1. */
FN F NAME(log2)(F x)
{
    F k;
    F f = NAME(log_split)(x, &k);
    F q = FMA(K(-0x1.68ea8ep-3f), f, K(0x1.a0be14p-3f));
    q = FMA(q, f, K(-0x1.6c63c2p-3f));
    q = FMA(q, f, K(0x1.9d1c8ap-3f));
    q = FMA(q, f, K(-0x1.ec8b4ap-3f));
    q = FMA(q, f, K(0x1.27a398p-2f));
    q = FMA(q, f, K(-0x1.715492p-2f));
    q = FMA(q, f, K(0x1.ec7014p-2f));
    q = FMA(q, f, K(-0x1.715476p-1f));
    F low = f * K(0x1.4ae0cp-26f);
    F r = FMA(f, K(0x1.715476p0f), k);
    F lost = FMA(f, K(0x1.715476p0f), k - r); /* in rounding r; k is 0 or the larger, so k - r is exact */
    return NAME(log_edges)(x, r + FMA(f * f, q, low + lost));
}

/*@ tanh: exp_parts */
/* Near zero an odd polynomial, else 1 - 2 / (e^2a + 1). The reciprocal starts from the negated exponent, 12 % off; each of two
 * cubic steps cubes the error.                                                                                           */
FN F NAME(tanh)(F x)
{
    U sign = AS_U(x) & 0x80000000u;
    F a = AS_F(AS_U(x) & 0x7fffffffu), highest = K(10.0f);
    F s = a * a;
    F p = FMA(K(-0x1.750ce4p-8f), s, K(0x1.51f8cep-6f));
    p = FMA(p, s, K(-0x1.b835a4p-5f));
    p = FMA(p, s, K(0x1.1106f6p-3f));
    p = FMA(p, s, K(-0x1.555532p-2f));
    F near = FMA(s * a, p, a);
    F b = SELECT(a > highest, highest, a), t;
    F p2 = NAME(exp_parts)(b + b, K(0x1.8000fep23f), &t); /* the low bits of t are those of 2^n's exponent */
    F d = FMA(p2, AS_F(AS_U(t) << 23u), K(1.0f));
    F r = AS_F(0x7ef311c3u - AS_U(d));
    F e = FMA(-d, r, K(1.0f));
    r = FMA(r, FMA(e, e, e), r);
    e = FMA(-d, r, K(1.0f));
    r = FMA(r, FMA(e, e, e), r);
    F far = FMA(K(-2.0f), r, K(1.0f));
    F y = SELECT(a < K(0.625f), near, far);
    return AS_F(AS_U(y) | sign);
}

/*@ erf: */
/* Near zero x + x P(x^2), else 1 - 2^(Q(a - 1) - 2): Q is close to 2 + log2(1 - erf a), which is small where 2^Q counts, so that its
 * errors, and those of 2^Q, hardly do. 2^Q as exp2 has it, to fewer digits; 125 in t makes Q - 2 an exponent.                */
FN F NAME(erf)(F x)
{
    U sign = AS_U(x) & 0x80000000u;
    F a = AS_F(AS_U(x) & 0x7fffffffu), highest = K(4.0f);
    F s = a * a;
    F p = FMA(K(-0x1.4e3b52p-11f), s, K(0x1.4bbc48p-8f));
    p = FMA(p, s, K(-0x1.b73f58p-6f));
    p = FMA(p, s, K(0x1.ce25e8p-4f));
    p = FMA(p, s, K(-0x1.812728p-2f));
    p = FMA(p, s, K(0x1.06eba8p-3f));
    F near = FMA(a, p, a);
    F b = SELECT(a > highest, highest, a) - K(1.0f);
    F q = FMA(K(0x1.2417d6p-12f), b, K(-0x1.626194p-9f));
    q = FMA(q, b, K(0x1.d7aa82p-7f));
    q = FMA(q, b, K(-0x1.eb2cc0p-5f));
    q = FMA(q, b, K(-0x1.37622ap0f));
    q = FMA(q, b, K(-0x1.e7532ap1f));
    q = FMA(q, b, K(-0x1.563ab8p-1f));
    F t = q + K(0x1.8000fap23f);
    F r = q - (t - K(0x1.8000fap23f));
    p = FMA(K(0x1.5aac76p-10f), r, K(0x1.3cec46p-7f));
    p = FMA(p, r, K(0x1.c6babap-5f));
    p = FMA(p, r, K(0x1.ebf9b6p-3f));
    p = FMA(p, r, K(0x1.62e424p-1f));
    p = FMA(p, r, K(1.0f));
    F far = FMA(-p, AS_F(AS_U(t) << 23u), K(1.0f));
    F y = SELECT(a < K(0.84375f), near, far);
    return AS_F(AS_U(y) | sign);
}

/*@ reduce_far: */
/* a mod pi/2 for 2^15 <= a < infinity, by Payne and Hanek: a is m 2^e with m an integer, and of the digits of 2/pi only
 * those count whose product with a is neither a multiple of 4 nor too small. A window of 96 bits holds them:
 *
 *     2/pi    0 | a2f9836e 4e441529 fc2757d1 f534ddc0 db629599 3c439041 fe5163ab        after one word of zeros
 *                    window  [ w0 | w1 | w2 ]                                           m times it: the quadrant in the
 *                                                                                       top 2 bits, then its fraction   */
FN F NAME(reduce_far)(F a, U *out_quadrant)
{
    U m = (AS_U(a) & 0x7fffffu) | 0x800000u;
    U at = (AS_U(a) >> 23u) - 120u; /* first bit of the window: 22 .. 134 */
    U shift = at & 31u;
    U i = at >> 5u;
    U none = AS_U(K(0.0f)), one = none + 1u;
    U d0 = none, d1 = none + 0xa2f9836eu, d2 = none + 0x4e441529u, d3 = none + 0xfc2757d1u;
    U d4 = none + 0xf534ddc0u, d5 = none + 0xdb629599u, d6 = none + 0x3c439041u, d7 = none + 0xfe5163abu;
    /* Words i .. i + 3 move to the front, by the bits of i. */
    U step = i & 1u;
    d0 = SELECT(step != 0u, d1, d0);
    d1 = SELECT(step != 0u, d2, d1);
    d2 = SELECT(step != 0u, d3, d2);
    d3 = SELECT(step != 0u, d4, d3);
    d4 = SELECT(step != 0u, d5, d4);
    d5 = SELECT(step != 0u, d6, d5);
    step = i & 2u;
    d0 = SELECT(step != 0u, d2, d0);
    d1 = SELECT(step != 0u, d3, d1);
    d2 = SELECT(step != 0u, d4, d2);
    d3 = SELECT(step != 0u, d5, d3);
    step = i & 4u; /* then i is 4, and nothing has moved */
    d0 = SELECT(step != 0u, d4, d0);
    d1 = SELECT(step != 0u, d5, d1);
    d2 = SELECT(step != 0u, d6, d2);
    d3 = SELECT(step != 0u, d7, d3);
    U back = 31u - shift; /* two shifts, since one by 32 is not defined */
    U w0 = (d0 << shift) | ((d1 >> 1u) >> back);
    U w1 = (d1 << shift) | ((d2 >> 1u) >> back);
    U w2 = (d2 << shift) | ((d3 >> 1u) >> back);
    U low = m * w1;
    U mid = low + MULHI(m, w2);
    U high = m * w0 + MULHI(m, w1) + SELECT(mid < low, one, none);
    /* The nearest quadrant, and the distance from it in units of 2^-30, made positive: the top 24 bits, then what is left. */
    U quadrant = (high + 0x20000000u) >> 30u;
    U rest = high - (quadrant << 30u);
    U flip = none - (rest >> 31u); /* all ones when negative; the complement is off by 2^-62, which is nothing */
    rest = rest ^ flip;
    mid = mid ^ flip;
    F top = TO_F(AS_I(rest & 0xffffffc0u));
    F tail = TO_F(AS_I(((rest & 63u) << 25u) | (mid >> 7u))) * K(0x1p-25f);
    F sum = top + tail;
    F lost = (top - sum) + tail;
    *out_quadrant = quadrant;
    F small = FMA(sum, K(-0x1.777a5cp-55f), lost * K(0x1.921fb6p-30f));
    F r = FMA(sum, K(0x1.921fb6p-30f), small);
    return AS_F(AS_U(r) ^ (flip & 0x80000000u));
}

/*@ reduce: reduce_far */
/* a mod pi/2 for any a >= 0: the remainder next to zero, and the quadrant. Below 2^15 in three steps with fma: the first is
 * exact, the others leave what a nearby multiple of pi/2 needs.                                                          */
FN F NAME(reduce)(F a, U *out_quadrant)
{
    F t = FMA(a, K(0x1.45f306p-1f), K(0x1.8p23f));
    F n = t - K(0x1.8p23f);
    F r = FMA(n, K(-0x1.921fb6p0f), a);
    r = FMA(n, K(0x1.777a5cp-25f), r);
    r = FMA(n, K(0x1.ee59dap-50f), r);
    U quadrant = AS_U(t);
    if (ANY(a >= K(0x1p15f))) {
        U far_quadrant;
        F far = NAME(reduce_far)(a, &far_quadrant);
        r = SELECT(a >= K(0x1p15f), far, r);
        quadrant = SELECT(a >= K(0x1p15f), far_quadrant, quadrant);
    }
    *out_quadrant = quadrant;
    return r;
}

/*@ sin_quadrant: */
/* The sine of r + quadrant * pi/2, |r| <= pi/4; the low two bits of quadrant count. */
FN F NAME(sin_quadrant)(F r, U quadrant)
{
    F s = r * r;
    F p = FMA(K(0x1.7c2c4ep-19f), s, K(-0x1.a05954p-13f));
    p = FMA(p, s, K(0x1.111174p-7f));
    p = FMA(p, s, K(-0x1.555556p-3f));
    F odd = FMA(s * r, p, r);
    p = FMA(K(0x1.99e80cp-16f), s, K(-0x1.6c0c28p-10f));
    p = FMA(p, s, K(0x1.55554ap-5f));
    p = FMA(p, s, K(-0.5f));
    F even = FMA(p, s, K(1.0f));
    F y = SELECT((quadrant & 1u) != 0u, even, odd);
    return AS_F(AS_U(y) ^ ((quadrant & 2u) << 30u));
}

/*@ sin: reduce sin_quadrant */
FN F NAME(sin)(F x)
{
    U quadrant;
    F a = AS_F(AS_U(x) & 0x7fffffffu), none = K(NAN);
    F r = NAME(reduce)(a, &quadrant);
    F y = NAME(sin_quadrant)(r, quadrant);
    y = AS_F(AS_U(y) ^ (AS_U(x) & 0x80000000u));
    return SELECT(a < K(INFINITY), y, none);
}

/*@ cos: reduce sin_quadrant */
FN F NAME(cos)(F x)
{
    U quadrant;
    F a = AS_F(AS_U(x) & 0x7fffffffu), none = K(NAN);
    F r = NAME(reduce)(a, &quadrant);
    F y = NAME(sin_quadrant)(r, quadrant + 1u);
    return SELECT(a < K(INFINITY), y, none);
}

/*@ erf_inv: log */
/* A polynomial of w = -ln(1 - x^2), and beyond w = 5 one of its root, times x. */
FN F NAME(erf_inv)(F x)
{
    F w = -NAME(log)(FMA(-x, x, K(1.0f)));
    F s = w - K(2.5f);
    F p = FMA(K(-0x1.2e0e9p-27f), s, K(0x1.8f222ap-26f));
    p = FMA(p, s, K(0x1.f48bdap-22f));
    p = FMA(p, s, K(-0x1.d0c19ep-19f));
    p = FMA(p, s, K(-0x1.4d159ep-18f));
    p = FMA(p, s, K(0x1.c9e6c8p-13f));
    p = FMA(p, s, K(-0x1.486616p-10f));
    p = FMA(p, s, K(-0x1.11c4ecp-8f));
    p = FMA(p, s, K(0x1.f91e8ap-3f));
    F near = FMA(p, s, K(0x1.805c5ep0f)) * x;
    s = SQRT(w) - K(3.0f);
    p = FMA(K(-0x1.25474ep-13f), s, K(0x1.1c089ep-14f));
    p = FMA(p, s, K(0x1.4b6feap-10f));
    p = FMA(p, s, K(-0x1.dd410ep-9f));
    p = FMA(p, s, K(0x1.7ab7d4p-8f));
    p = FMA(p, s, K(-0x1.f4126ep-8f));
    p = FMA(p, s, K(0x1.3518ecp-7f));
    p = FMA(p, s, K(0x1.006dbep0f));
    F far = FMA(p, s, K(0x1.6a9efep1f)) * x, edge = x * K(INFINITY);
    F y = SELECT(w < K(5.0f), near, far);
    return SELECT(w == K(INFINITY), edge, y);
}
