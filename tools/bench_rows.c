/* bench_rows: what `clpallas bench` measures, as a table: the work, its arrays, who else does it, and the ratio that is wanted. */
#include <string.h>

#include "bench.h"

/* x[M, K] . y[K, N], in dtypes that params say. */
#define PRODUCT(M, N, K) \
    .shape = #M "x" #N "x" #K, .arrays = #M "x" #K "," #K "x" #N "," #M "x" #N, \
    .flops = 2.0 * M * N * K

/* Of OpenBLAS, oneDNN and the newer oneDNN in PyTorch the fastest counts. */
#define BEST_BLAS(wanted) \
    { &peer_blas, NULL, wanted, 1, NULL, false }, { &peer_onednn, NULL, wanted, 1, NULL, false }, \
    { &peer_torch, "torch.mm(x, y, out=z)", wanted, 1, NULL, false }
#define CLBLAST { &peer_clblast, NULL, 20, 0, NULL, false }
#define NO_MORE { NULL, NULL, 0, 0, NULL, false }
#define TORCH(how, wanted) { &peer_torch, how, wanted, 0, NULL, false }
#define COPY(wanted) { &peer_copy, NULL, wanted, 0, NULL, false }
#define LOOP(how, wanted) { &peer_loop, how, wanted, 0, NULL, false }
#define OURS(row, wanted) { &peer_own, row, wanted, 0, NULL, false }
#define ONLY(wanted) { { NULL, NULL, wanted, 0, NULL, false } }       /* of a row with its own peer */

#define CUBE(n, wanted, ...) { .name = "matmul-" #n, .kernel = "matmul", PRODUCT(n, n, n), .tol = 1e-5, .peers = { BEST_BLAS(wanted), __VA_ARGS__ } }
#define ODD(M, N, K) \
    { .name = "matmul-" #M "x" #N "x" #K, .kernel = "matmul", PRODUCT(M, N, K), .tol = 1e-5, .peers = { BEST_BLAS(0.9) } }

/* 8 heads of n queries and keys. The unfused kernels round scores to bf16, which no bound over the whole array tells from a fault where
 * few keys are seen: they are compared in f32. */
#define ATTENTION(n, d, T, causal, is_causal, tol_, suffix) \
    { .name = "attention-" #T "-" #n "-" #d suffix, .kernel = "attention", .params = "T=" #T ", d=" #d ", causal=" causal, \
      .shape = "8x" #n "x" #d, .arrays = "0.125," "8x" #n "x" #d "," "8x" #n "x" #d "," "8x" #n "x" #d "," "8x" #n "x" #d, .tol = tol_, \
      .flops = 4.0 * 8 * n * n * d / (sizeof suffix > 1 ? 2 : 1), \
      .peers = { TORCH("F.scaled_dot_product_attention(q, k, v, is_causal=" is_causal ", scale=0.125)", 1), \
                 { &peer_unfused, sizeof suffix > 1 ? "causal" : "", 2, 0, NULL, sizeof #T > sizeof "f32" } } }
#define ATTENTIONS(n, d) \
    ATTENTION(n, d, f32, "false", "False", 1e-5, ""), ATTENTION(n, d, f32, "true", "True", 1e-5, "-causal"), \
    ATTENTION(n, d, bf16, "false", "False", 2e-2, ""), ATTENTION(n, d, bf16, "true", "True", 2e-2, "-causal")

/* count is R * N. */
#define ROWS(R, N, count) \
    { .name = "softmax-" #R "x" #N, .kernel = "softmax", .shape = #R "x" #N, .arrays = #R "x" #N "," #R "x" #N, .tol = 1e-5, \
      .peers = { TORCH("torch.softmax(x, 1, out=o)", 1), COPY(0.85) } }, \
    { .name = "gelu-" #R "x" #N, .kernel = "map", .params = "act=gelu", .shape = #R "x" #N, .arrays = #count "," #count, .tol = 1e-5, \
      .peers = { TORCH("torch.ops.aten.gelu.out(x, out=o)", 1), COPY(0.75) } }, \
    { .name = "layer_norm-" #R "x" #N, .kernel = "layer_norm", .shape = #R "x" #N, .tol = 1e-4, \
      .arrays = "1e-5," #R "x" #N "," #N "," #N "," #R "x" #N, \
      .peers = { TORCH("m = torch.empty(" #R ", 1); r = torch.empty(" #R ", 1); torch.ops.aten.native_layer_norm.out(x, [" #N "], w, b, eps.item(), out0=o, out1=m, out2=r)", 1), COPY(0.9) } }

const bench_row bench_rows[] = {
    CUBE(512, 1, CLBLAST), CUBE(1024, 1, CLBLAST), CUBE(1536, 1, CLBLAST), CUBE(2048, 1, CLBLAST), CUBE(4096, 1, CLBLAST),
    CUBE(128, 0.9, NO_MORE), CUBE(256, 0.9, NO_MORE), CUBE(1000, 0.9, NO_MORE),
    ODD(4095, 33, 511), ODD(1, 4096, 4096), ODD(4096, 4096, 1), ODD(17, 17, 4096),
    { .name = "matmul_nt-1024", .kernel = "matmul_nt", PRODUCT(1024, 1024, 1024), .tol = 1e-5,
      .peers = { OURS("matmul-1024", 0.98), { &peer_blas, "nt", 0, 0, NULL, false } } },
    { .name = "matmul_tn-1024", .kernel = "matmul_tn", PRODUCT(1024, 1024, 1024), .tol = 1e-5,
      .peers = { OURS("matmul-1024", 0.98), { &peer_blas, "tn", 0, 0, NULL, false } } },
    { .name = "matmul_tt-1024", .kernel = "matmul_tt", PRODUCT(1024, 1024, 1024), .tol = 1e-5,
      .peers = { OURS("matmul-1024", 0.98), { &peer_blas, "tt", 0, 0, NULL, false } } },
    { .name = "matmul_fused-1024", .kernel = "matmul", .params = "has_bias=true, act=gelu", .shape = "1024x1024x1024", .tol = 1e-5,
      .arrays = "1024x1024,1024x1024,1024,1024x1024", .flops = 2.0 * 1024 * 1024 * 1024,
      .peers = { OURS("matmul-1024", 0.98), TORCH("torch.ops.aten.gelu.out(torch.addmm(bias, x, y, out=z), out=z)", 0) } },
    { .name = "matmul_bf16-1024", .kernel = "matmul", .params = "T=bf16", PRODUCT(1024, 1024, 1024), .tol = 2e-2,
      .peers = { { &peer_onednn, NULL, 1, 1, " amx_bf16", false }, { &peer_torch, "torch.mm(x, y, out=z)", 1, 1, " amx_bf16", false },
                 { &peer_own, "matmul-1024", 0.9, 0, "! amx_bf16", false } } },
    { .name = "matmul_bf16-2048", .kernel = "matmul", .params = "T=bf16", PRODUCT(2048, 2048, 2048), .tol = 2e-2,
      .peers = { { &peer_onednn, NULL, 1, 1, " amx_bf16", false }, { &peer_torch, "torch.mm(x, y, out=z)", 1, 1, " amx_bf16", false },
                 { &peer_own, "matmul-2048", 0.9, 0, "! amx_bf16", false } } },
    { .name = "matmul_i8-1024", .kernel = "matmul_i8", .params = "O=i32, has_row=false, has_column=false", PRODUCT(1024, 1024, 1024),
      .peers = { { &peer_onednn, NULL, 1, 0, "vnni", false }, { &peer_own, "matmul-1024", 0.9, 0, "!vnni", false } } },
    { .name = "matmul_i8-2048", .kernel = "matmul_i8", .params = "O=i32, has_row=false, has_column=false", PRODUCT(2048, 2048, 2048),
      .peers = { { &peer_onednn, NULL, 1, 0, "vnni", false }, { &peer_own, "matmul-2048", 0.9, 0, "!vnni", false } } },
    { .name = "matmul_i8_scaled-1024", .kernel = "matmul_i8", .params = "has_column=false", .shape = "1024x1024x1024", .tol = 1e-6,
      .arrays = "1024x1024,1024x1024,1024,1024x1024", .flops = 2.0 * 1024 * 1024 * 1024,
      .peers = { { &peer_torch, "row.unsqueeze(1) * torch._int_mm(x, y)", 1, 0, "vnni", false }, { &peer_own, "matmul-1024", 0.9, 0, "!vnni", false } } },
    ROWS(4096, 1024, 4194304), ROWS(64, 65536, 4194304),
    { .name = "rms_norm", .kernel = "rms_norm", .shape = "4096x1024", .arrays = "1e-5,4096x1024,1024,4096x1024", .tol = 1e-5,
      .peers = { COPY(0.9), TORCH("F.rms_norm(x, [1024], w, eps.item())", 0) } },
    { .name = "row_sum", .kernel = "row_sum", .shape = "4096x1024", .arrays = "4096x1024,4096", .tol = 1e-5,
      .peers = { COPY(0.9), TORCH("torch.sum(x, 1, out=o)", 0) } },
    { .name = "row_cumsum", .kernel = "row_cumsum", .shape = "4096x1024", .arrays = "4096x1024,4096x1024", .tol = 1e-4,
      .peers = { COPY(0.9), TORCH("torch.cumsum(x, 1, out=o)", 0) } },
    { .name = "add", .kernel = "add", .shape = "16777216", .arrays = "16777216,16777216,16777216",
      .peers = { COPY(0.9), TORCH("torch.add(x, y, out=o)", 0) } },
    { .name = "transpose", .kernel = "transpose", .shape = "2048x4096", .arrays = "2048x4096,4096x2048",
      .peers = { COPY(0.9), TORCH("o.copy_(x.t())", 0) } },
    { .name = "gather_rows", .kernel = "gather_rows", .shape = "8192x1024", .arrays = "8192%8192,8192x1024,8192x1024",
      .peers = { COPY(0.9), TORCH("torch.index_select(x, 0, idx, out=o)", 0) } },
    { .name = "convert", .kernel = "convert", .shape = "16777216", .arrays = "16777216,16777216",
      .peers = { COPY(0.9), TORCH("o.copy_(x)", 0) } },
    ATTENTIONS(1024, 64), ATTENTIONS(1024, 128), ATTENTIONS(4096, 64), ATTENTIONS(4096, 128),
    { .name = "histogram", .kernel = "histogram", .shape = "16777216", .arrays = "16777216%256,256", .peers = { LOOP("histogram", 0.8) } },
    { .name = "stencil", .kernel = "stencil3x3", .shape = "2048x2048", .arrays = "2048x2048,3x3,2048x2048", .tol = 1e-5,
      .peers = { LOOP("stencil3x3", 0.8) } },
    { .name = "scan", .kernel = "row_cumsum", .shape = "64x65536", .arrays = "64x65536,64x65536", .tol = 1e-3, .peers = { LOOP("row_cumsum", 0.8) } },
#ifdef CLPALLAS_OPENCL
    { .name = "launch", .shape = "empty kernel", .run = row_launch, .size = 1, .peers = ONLY(1 / 1.1),
      .does = "a launch that does nothing, waited for; clEnqueueNDRangeKernel and clFinish by hand" },
    { .name = "launches", .shape = "1000 empty ones", .run = row_launch, .size = 1000, .peers = ONLY(1 / 1.1),
      .does = "1000 launches that do nothing, waited for at the end; the same by hand" },
    { .name = "launches-events", .shape = "1000 empty ones", .run = row_launch_events, .size = 1000, .peers = ONLY(1 / 1.1),
      .does = "the same with an event each" },
    { .name = "front-end", .shape = "attention.plk", .run = row_front_end, .peers = ONLY(50),
      .does = "attention.plk to OpenCL C; the device's clBuildProgram of that" },
    { .name = "process", .shape = "matmul of 256", .run = row_process, .peers = ONLY(1 / 1.3),
      .does = "a whole process that multiplies two matrices, its kernel on disk; one that runs the same binary by hand" },
#endif
    { .name = "interp-matmul", .kernel = "matmul", .params = "bm=128, bn=128, bk=128", PRODUCT(1024, 1024, 1024), .tol = 1e-5, .on_interp = true,
      .peers = { { &peer_blas_1, NULL, 0.35, 0, NULL, false } } },
    { .name = "interp-softmax", .kernel = "softmax", .params = "br=8, bn=1024", .shape = "4096x1024", .arrays = "4096x1024,4096x1024", .tol = 1e-5,
      .on_interp = true, .peers = { LOOP("softmax", 0.7) } },
    { .name = "interp-programs", .shape = "100000 programs", .on_interp = true, .run = row_interp_programs, .size = 100000, .peers = ONLY(1.0 / 20),
      .does = "programs of one element on the interpreter; as many malloc and free of 64 bytes" },
    { .name = "check-matmul", .kernel = "matmul", .params = "bm=128, bn=128, bk=128", PRODUCT(1024, 1024, 1024), .on_interp = true, .run = row_check,
      .peers = ONLY(1.0 / 3), .does = "f32 matmul in blocks of 128 on the interpreter, races looked for; a plain run of it" },
    { .name = "check-add", .kernel = "add", .shape = "4194304", .arrays = "4194304,4194304,4194304", .on_interp = true, .run = row_check,
      .peers = ONLY(1.0 / 8), .does = "f32 add on the interpreter, races looked for; a plain run of it" },
    { 0 }
};

const bench_row *bench_row_named(const char *name)
{
    const bench_row *row = bench_rows;
    while (row->name && strcmp(row->name, name))
        row++;
    return row->name ? row : NULL;
}
