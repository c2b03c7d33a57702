/* diff: the same kernel on the interpreter and elsewhere, from the same made-up arrays.
 * In: the rows below, each a command line and the bound that floats may differ by; a device, a schedule and an order.
 * Out: a line for each row that fails, or that the device rightly refuses, with the reason, and a count; exit status 1 if one failed, 77
 * without the device. Every row runs with its arrays laid out in three ways: plain, with gaps between elements, and
 * backwards. Whatever memory does not belong to an array's elements must be as it was. With "check:3" in place of an
 * order each is checked too, with that many shuffled orders, and nothing may be found; with "checked" the device runs
 * checked code, and finds nothing.
 *
 * usage: diff FOLDER DEVICE SCHEDULE ORDER [tiny] [row...] */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "rows.h"
#include "run/run.h"
#include "support/refusal.h"
#include "support/support.h"
#include "tool.h"

enum { NO_DEVICE = 77, MAX_WORDS = 64 };

/* Integers and movement have no bound; what functions and sums may differ by (tools/compare.c) is written here. */
static const row rows[] = {
    { "chain -i x=randn:1 -i y=randn:1,1", 0, NULL },
    { "chain -i x=randn:31 -i y=randn:31,1", 0, NULL },
    { "chain -i x=randn:32 -i y=randn:32,1", 0, NULL },
    { "chain -i x=randn:1000 -i y=randn:1000,1", 0, NULL },
    { "chain -p b=1 -i x=randn:9 -i y=randn:9,1", 0, NULL },
    { "chain -p b=77 -i x=randn:300 -i y=randn:300,1", 0, NULL },
    { "chain -i x=randn:0 -i y=randn:0,1", 0, NULL },
    { "chain -p T=f64 -i x=randn:99 -i y=randn:99,1", 0, NULL },
    { "chain -p T=f16 -i x=randn:99 -i y=randn:99,1", 0, NULL },
    { "chain -p T=bf16 -i x=randn:99 -i y=randn:99,1", 0, NULL },
    { "chain -p T=i8 -i x=rand:99 -i y=rand:99,1", 0, NULL },
    { "chain -p T=i64 -i x=rand:99 -i y=rand:99,1", 0, NULL },
    { "integers -i x=rand:100 -i y=rand:100,1", 0, NULL },
    { "integers -p T=u32 -i x=rand:100 -i y=rand:100,1", 0, NULL },
    { "integers -p T=i8,b=5 -i x=rand:1000 -i y=rand:1000,1", 0, NULL },
    { "integers -p T=u8 -i x=rand:1000 -i y=rand:1000,1", 0, NULL },
    { "integers -p T=i16 -i x=rand:100 -i y=rand:100,1", 0, NULL },
    { "integers -p T=u16 -i x=rand:100 -i y=rand:100,1", 0, NULL },
    { "integers -p T=i64 -i x=rand:100 -i y=rand:100,1", 0, NULL },
    { "integers -p T=u64 -i x=rand:100 -i y=rand:100,1", 0, NULL },
    { "integers -i x=randn:100 -i y=randn:100,1", 0, NULL },
    { "casts -i x=randn:50", 0, NULL },
    { "casts -p T=i32 -i x=rand:50", 0, NULL },
    { "casts -p T=u8 -i x=rand:50", 0, NULL },
    { "casts -p T=bf16 -i x=randn:50", 0, NULL },
    { "casts -p T=f16,b=7 -i x=randn:50", 0, NULL },
    { "casts -p T=i64 -i x=rand:50", 0, NULL },
    { "casts -p T=f64 -i x=randn:50", 0, NULL },
    { "widened -i x=rand:100", 0, NULL },
    { "widened -p T=u8,b=5 -i x=rand:100", 0, NULL },
    { "widened -p T=i16 -i x=rand:100", 0, NULL },
    { "functions -i x=randn:500", 0, NULL },
    { "functions -p T=f16 -i x=randn:500", 0, NULL },
    { "functions -p T=bf16,b=48 -i x=randn:500", 0, NULL },
    { "functions -p T=f64 -i x=randn:100", 1e-13, NULL },
    { "reductions -i x=randn:10x5x12", 0, NULL },
    { "reductions -i x=randn:3x4x11", 0, NULL },
    { "reductions -p T=i8 -i x=rand:7x5x9", 0, NULL },
    { "reductions -p T=f16 -i x=randn:7x5x9", 0, NULL },
    { "sums -i x=randn:11x100", 1e-5, NULL },
    { "sums -p b=1,c=16 -i x=randn:5x333", 1e-5, NULL },
    { "scans -i x=randn:9x20", 0, NULL },
    { "scans -i x=randn:4x13", 0, NULL },
    { "long_scans -i x=randn:17x256 -i z=randn:17x256,1", 1e-5, NULL },
    { "long_scans -p b=2,c=300 -i x=randn:5x290 -i z=randn:5x290,1", 1e-5, NULL },
    { "long_scans -p b=16,c=68 -i x=randn:20x67 -i z=randn:20x67,1", 1e-5, NULL },
    { "long_scans -p T=i32,b=3,c=129 -i x=rand:7x129 -i z=rand:7x129,1", 0, NULL },
    { "long_scans -p T=i64,b=1,c=500 -i x=rand:3x490 -i z=rand:3x490,1", 0, NULL },
    { "long_scans -p T=f64,b=4,c=128 -i x=randn:9x120 -i z=randn:9x120,1", 1e-12, NULL },
    { "long_scans -p T=bf16,b=4,c=64 -i x=randn:9x64 -i z=randn:9x64,1", 2e-2, NULL },
    { "scan_places -i x=rand:700 -i y=rand:700,1 -i t=rand:21,2", 0, NULL },
    { "scan_places -p b=37 -i x=rand:100 -i y=rand:100,1 -i t=rand:21,2", 0, NULL },
    { "scan_rows -i x=rand:400x64", 0, NULL },
    { "compact -i x=rand:1000", 0, NULL },
    { "compact -p b=100 -i x=rand:333", 0, NULL },
    { "compact -p b=7 -i x=rand:30", 0, NULL },
    { "comes_to -i x=randn:8x45", 1e-5, NULL },
    { "comes_to -p c=32 -i x=randn:6x29", 1e-5, NULL },
    { "comes_to -p T=i32,b=1,c=3 -i x=randn:2x3", 0, NULL },
    { "comes_to -p T=i32,b=3,c=71 -i x=randn:7x70", 0, NULL },
    { "comes_to -p T=f64,c=39 -i x=randn:5x39", 1e-13, NULL },
    { "comes_to -p T=f16,c=24 -i x=randn:5x20", 3e-2, NULL },
    { "movement -i x=randn:13x27", 0, NULL },
    { "movement -p T=u8 -i x=rand:6x10", 0, NULL },
    { "movement -p T=i64,b=4,c=3 -i x=rand:9x8", 0, NULL },
    { "dots -i x=randn:4x8x20 -i y=randn:4x20x12,1", 1e-5, NULL },
    { "dots -i x=randn:3x5x17 -i y=randn:3x17x9,1", 1e-5, NULL },
    { "dots -p T=bf16 -i x=randn:3x5x17 -i y=randn:3x17x9,1", 1e-5, NULL },
    { "dots -p T=f16,m=33,n=40,k=35 -i x=randn:2x33x35 -i y=randn:2x35x40,1", 1e-5, NULL },
    { "integer_dot -i x=rand:33x70 -i y=rand:70x20,1", 0, NULL },
    { "integer_dot -p T=u8 -i x=rand:33x70 -i y=rand:70x20,1", 0, NULL },
    { "integer_dot -p T=i16 -i x=rand:33x70 -i y=rand:70x20,1", 0, NULL },
    { "indices -i x=randn:50 -i p=rand:50 -i t=randn:23 -i o=zeros:23", 0, NULL },
    { "counting -i x=randn:200 -i h=zeros:5 -i m=zeros:5 -i f=zeros:5", 1e-6, NULL },
    { "loops -i x=iota:23 -i n=rand:23", 0, NULL },
    { "many_axes -i x=rand:3x5x2x3x7", 0, NULL },
    { "order_matters -i x=randn:5x20 -i a=ones:20", 0, NULL },
    { "windows -i x=randn:57", 0, NULL },
    { "windows -i x=randn:3", 0, NULL },
    { "windows -p b=1 -i x=randn:9", 0, NULL },
    { "tables -i t=rand:6 -i n=iota:6 -i x=randn:18x7", 1e-6, NULL },
    { "tables -p P=i8 -i t=rand:6 -i n=iota:6 -i x=randn:18x7", 1e-6, NULL },
    { "tables -p P=u16 -i t=rand:6 -i n=iota:6 -i x=randn:18x7", 1e-6, NULL },
    { "slices -i x=rand:6x9", 0, NULL },
    { "halves -i x=randn:100 -i y=randn:100,1", 0, NULL },
    { "halves -p T=bf16 -i x=randn:100 -i y=randn:100,1", 0, NULL },
    { "nibbles -i x=rand:57 -i y=rand:57,1", 0, NULL },
    { "nibbles -p T=u4,W=u8,b=3 -i x=rand:58 -i y=rand:58,1", 0, NULL },
    { "logic -i p=rand:50 -i q=rand:50,1 -i x=randn:50 --dim G=5", 0, NULL },
    { "backwards -i x=randn:70 -i o=iota:70", 0, NULL },
    { "backwards -p T=u8 -i x=rand:70 -i o=rand:70,1", 0, NULL },
    { "masked_sum -i x=randn:18x18 -i y=randn:18x20,1", 1e-5, NULL },
    { "places -i q=iota:15", 0, NULL },
    { "places -i q=rand:30", 0, NULL },
    { "ends -i x=iota:13", 0, "n: uninitialised: program (0, 0) reads" },
    { "ends -p b=20 -i x=iota:13", 0, "n: uninitialised: program (0, 0) reads" },
    { "handed -i y=rand:40 -i c=rand:40", 0, NULL },
    { "handed -p T=f64,b=7 -i y=randn:40 -i c=rand:40", 0, NULL },
    { "lost -i x=iota:13 -i h=iota:13", 0, NULL },
    { "swaps -i x=iota:40 -i n=rand:40", 0, NULL },
    { "chained -i q=randn:2x9x20 -i x=randn:2x10x20,1", 1e-5, NULL },
    { "chained -p T=bf16,m=3,k=1,d=1 -i q=randn:2x9x1 -i x=randn:2x1x1,1", 1e-5, NULL },
    { "dot_edges -i x=randn:3x1 -i y=randn:1x2,1", 1e-5, NULL },
    { "dot_edges -p m=1,n=33,k=7 -i x=randn:2x7 -i y=randn:7x40,1", 1e-5, NULL },
    { "dot_edges -p m=13,n=1,k=3 -i x=randn:20x3 -i y=randn:3x2,1", 1e-5, NULL },
    { "dot_edges -p m=12,n=24,k=5 -i x=randn:20x4 -i y=randn:4x50,1", 1e-5, NULL },
    { "dot_edges -p T=f64,A=f64,m=5,n=9,k=11 -i x=randn:7x11 -i y=randn:11x10,1", 1e-13, NULL },
    { "dot_edges -p T=f16,m=65,n=67,k=33 -i x=randn:70x33 -i y=randn:33x70,1", 1e-5, NULL },
    { "dot_edges -p T=f8e4m3,m=5,n=17,k=11 -i x=randn:7x11 -i y=randn:11x20,1", 1e-5, NULL },
    { "dot_edges -p T=u32,A=i32,m=7,n=18,k=3 -i x=rand:9x3 -i y=rand:3x20,1", 0, NULL },
    { "dot_edges -p T=i64,A=i64,m=7,n=18,k=3 -i x=rand:9x3 -i y=rand:3x20,1", 0, NULL },
    { "dot_edges -p T=i8,A=i64,m=7,n=18,k=3 -i x=rand:9x3 -i y=rand:3x20,1", 0, NULL },
    { "dot_edges -p T=i8,U=i4,A=i32,m=8,n=8,k=64 -i x=rand:9x61 -i y=rand:61x14,1", 0, NULL },
    { "dot_edges -p T=u8,U=u4,A=i32,m=8,n=64,k=32 -i x=rand:9x32 -i y=rand:32x66,1", 0, NULL },
    { "dot_edges -p T=i4,A=i32,m=16,n=32,k=20 -i x=rand:20x19 -i y=rand:19x34,1", 0, NULL },
    { "dot_edges -p T=u4,U=i8,A=i32,m=16,n=32,k=20 -i x=rand:20x18 -i y=rand:18x34,1", 0, NULL },
    { "dot_edges -p T=u4,U=i4,A=i32,m=1,n=48,k=64 -i x=rand:4x64 -i y=rand:64x48,1", 0, NULL },
    { "scan_ends -i x=rand:90 -i y=randn:90x16,1", 1e-5, NULL },
    { "deep -i x=rand:16 -i y=randn:19x16,1", 1e-5, NULL },
    { "dot_in_place -i x=randn:70x70", 1e-4, NULL },
    { "partial_dots -i x=randn:50x40 -i y=randn:40x170,1 -i b=randn:170,2 -i t=randn:50x170,3", 1e-5, NULL },
    { "few_products --dim M=6,N=13", 0, NULL },
    { "few_products -p T=f16 --dim M=6,N=13", 0, NULL },
    { "turned -i x=randn:20x37 -i y=randn:37x20,1 -i z=randn:20x37,2", 0, NULL },
    { "turned -i x=randn:45x60 -i y=randn:60x45,1 -i z=randn:45x60,2", 0, NULL },
    { "turned -p m=8,n=70 -i x=randn:9x100 -i y=randn:100x9,1 -i z=randn:9x100,2", 0, NULL },
    { "turned -p m=31,n=16,T=f64 -i x=randn:40x20 -i y=randn:20x40,1 -i z=randn:40x20,2", 0, NULL },
    { "turned -p m=35,n=33,T=bf16 -i x=randn:40x40 -i y=randn:40x40,1 -i z=randn:40x40,2", 0, NULL },
    { "turned -p m=16,n=32,T=i8 -i x=rand:40x40 -i y=rand:40x40,1 -i z=rand:40x40,2", 0, NULL },
    { "turned -p m=4,n=5,T=i64 -i x=rand:9x9 -i y=rand:9x9,1 -i z=rand:9x9,2", 0, NULL },
    { "turned_cubes -i x=randn:13x3x21", 0, NULL },
    { "turned_cubes -p a=16,T=f16 -i x=randn:30x2x20", 0, NULL },
    { "/matmul -p bm=32,bn=48,bk=16 -i x=randn:70x33 -i y=randn:33x50,1", 1e-5, NULL },
    { "/matmul -p bm=64,bn=96,bk=32 -i x=randn:77x40 -i y=randn:40x107,1", 1e-5, NULL },
    { "/matmul -p bm=32,bn=64,bk=16 -i x=randn:40x50 -i y=randn:50x110,1", 1e-5, NULL },
    { "/matmul -i x=randn:200x300 -i y=randn:300x150,1", 1e-5, NULL },
    { "/matmul -p bm=30,bn=80,bk=16,has_bias=true,has_residual=true,act=gelu -i x=randn:70x33 -i y=randn:33x170,1 -i bias=randn:170,2 "
      "-i residual=randn:70x170,3", 1e-5, NULL },
    { "/matmul -p T=bf16,act=relu -i x=randn:100x90 -i y=randn:90x80,1", 1e-2, NULL },
    { "/matmul -p T=f16,has_bias=true,act=gelu,bm=64,bn=32 -i x=randn:100x90 -i y=randn:90x80,1 -i bias=randn:80,2",
      2e-3, NULL },
    { "/matmul -i x=randn:5x0 -i y=randn:0x7", 0, NULL },
    { "/matmul -i x=randn:1x1 -i y=randn:1x1,1", 1e-5, NULL },
    { "/matmul -p bm=17,bn=19,bk=23 -i x=randn:40x50 -i y=randn:50x41,1", 1e-5, NULL },
    { "/matmul_nt -p bm=32,bn=32,bk=32 -i x=randn:70x33 -i y=randn:50x33,1", 1e-5, NULL },
    { "/matmul_nt -p bm=1,bn=32,bk=48 -i x=randn:3x133 -i y=randn:50x133,1", 1e-5, NULL },
    { "/matmul_nt -p T=bf16,bm=1,bn=32,bk=48 -i x=randn:3x133 -i y=randn:50x133,1", 1e-2, NULL },
    { "/matmul_tn -p bm=32,bn=32,bk=32 -i x=randn:33x70 -i y=randn:33x50,1", 1e-5, NULL },
    { "/matmul_tt -p bm=32,bn=48,bk=16,has_bias=true,has_residual=true,act=gelu_tanh -i x=randn:33x70 -i y=randn:50x33,1 -i bias=randn:50,2 "
      "-i residual=randn:70x50,3", 1e-5, NULL },
    { "/matmul_tn -p T=bf16,has_residual=true,bm=64,bn=64 -i x=randn:90x100 -i y=randn:90x80,1 -i residual=randn:100x80,2", 1e-2, NULL },
    { "/matmul_dx -p bm=32,bn=16,bk=48 -i dz=randn:70x50 -i y=randn:33x50,1", 1e-5, NULL },
    { "/matmul_dx -p T=bf16 -i dz=randn:70x50 -i y=randn:33x50,1", 1e-2, NULL },
    { "/matmul_dy -p bm=16,bn=32,bk=48 -i x=randn:70x33 -i dz=randn:70x50,1", 1e-5, NULL },
    { "/matmul_dy -i x=randn:0x5 -i dz=randn:0x7", 0, NULL },
    { "/matmul_i8 -p bm=32,bn=32,bk=32 -i x=rand:70x33 -i y=rand:33x50,1 -i row=randn:70 -i column=randn:50", 1e-6, NULL },
    { "/matmul_i8 -p O=i32,has_row=false,has_column=false,bm=32,bn=32,bk=32 -i x=rand:70x33 -i y=rand:33x50,1", 0, NULL },
    { "/matmul_i8 -p T=u8,O=f16,has_column=false,bm=32,bn=32,bk=32 -i x=rand:70x33 -i y=rand:33x50,1 -i row=randn:70,2", 2e-3, NULL },
    { "/attention -s scale=0.3 -p d=16,bq=8,bk=12 -i q=randn:2x21x16 -i k=randn:2x30x16,1 -i v=randn:2x30x16,2", 1e-5, NULL },
    { "/attention -s scale=0.3 -p d=16,causal=true,T=bf16 -i q=randn:2x70x16 -i k=randn:2x70x16,1 -i v=randn:2x70x16,2",
      2e-2, NULL },
    { "/attention -s scale=0.3 -p d=16,bq=8,bk=12,causal=true,has_lengths=true -i q=randn:6x21x16 -i k=randn:2x30x16,1 -i v=randn:2x30x16,2 "
      "-i lengths=iota:3", 1e-5, NULL },
    { "/attention -s scale=0.3 -p d=16,bq=8,bk=3,has_lengths=true,T=f16 -i q=randn:4x9x16 -i k=randn:4x10x16,1 -i v=randn:4x10x16,2 "
      "-i lengths=iota:4", 2e-3, NULL },
    { "/attention -s scale=0.1 -i q=randn:1x70x64 -i k=randn:1x130x64,1 -i v=randn:1x130x64,2", 1e-5, NULL },
    { "/attention -s scale=0.1 -p d=128,bq=32 -i q=randn:1x40x128 -i k=randn:1x70x128,1 -i v=randn:1x70x128,2", 1e-5, NULL },
    { "/softmax -i x=randn:19x1000", 1e-6, NULL },
    { "/softmax -p bn=128 -i x=randn:19x100", 1e-6, NULL },
    { "/softmax -p T=f16,bn=128 -i x=randn:19x100", 2e-3, NULL },
    { "/softmax -p br=3,bn=32 -i x=randn:7x100", 1e-6, NULL },
    { "/softmax -p T=bf16,br=3,bn=32 -i x=randn:7x100", 1e-2, NULL },
    { "/softmax -p T=f64,br=3,bn=32 -i x=randn:7x100", 1e-13, NULL },
    { "/logsumexp -p bn=64 -i x=randn:19x200", 1e-6, NULL },
    { "/layer_norm -p bn=128 -s eps=1e-5 -i x=randn:19x100 -i w=randn:100,1 -i b=randn:100,2", 1e-5, NULL },
    { "/layer_norm -p br=3,bn=32 -s eps=1e-5 -i x=randn:7x100 -i w=randn:100,1 -i b=randn:100,2", 1e-5, NULL },
    { "/layer_norm -p T=bf16,br=3,bn=32 -s eps=1e-5 -i x=randn:7x100 -i w=randn:100,1 -i b=randn:100,2", 2e-2, NULL },
    { "/layer_norm -p T=f64,br=3,bn=32 -s eps=1e-5 -i x=randn:7x100 -i w=randn:100,1 -i b=randn:100,2", 1e-12, NULL },
    { "/rms_norm -p T=bf16,bn=128 -s eps=1e-5 -i x=randn:19x100 -i w=randn:100,1", 2e-2, NULL },
    { "/rms_norm -p br=3,bn=32 -s eps=1e-5 -i x=randn:7x100 -i w=randn:100,1", 1e-5, NULL },
    { "/map -p act=silu -i x=randn:3000", 1e-6, NULL },
    { "/copy -p T=bf16 -i x=randn:3000", 0, NULL },
    { "/convert -i x=randn:3000", 0, NULL },
    { "/convert -p T=i16,U=f16,b=7 -i x=rand:30", 0, NULL },
    { "/add -p T=f64 -i x=randn:3000 -i y=randn:3000,1", 0, NULL },
    { "/axpy -s a=0.7 -i x=randn:3000 -i y=randn:3000,1", 0, NULL },
    { "/transpose -i x=randn:50x70", 0, NULL },
    { "/transpose -p T=u8,b=8 -i x=rand:13x21", 0, NULL },
    { "/row_sum -i x=randn:20x1200", 1e-5, NULL },
    { "/row_sum -p T=i8,br=3,bn=32 -i x=rand:7x100", 0, NULL },
    { "/row_max -i x=randn:20x1200", 0, NULL },
    { "/row_cumsum -p bn=64 -i x=randn:10x300", 1e-5, NULL },
    { "/row_cumsum -p T=bf16,bn=64 -i x=randn:10x300", 1e-2, NULL },
    { "/row_cumsum -p T=i16,br=3,bn=32 -i x=rand:7x100", 0, NULL },
    { "/row_cumsum -p T=f64,br=3,bn=32 -i x=randn:7x100", 1e-13, NULL },
    { "/gather_rows -i idx=zeros:7 -i x=randn:5x200", 0, NULL },
    { "/gather_rows -p T=i8,bc=32 -i idx=iota:5 -i x=rand:5x70", 0, NULL },
    { "/scatter_rows -i idx=iota:7 -i x=randn:7x200 -i o=zeros:9x200", 0, NULL },
    { "/histogram -i x=randn:1000 -i h=zeros:4", 0, NULL },
    { "/histogram -p b=64,bins=3 -i x=randn:1000 -i h=zeros:4", 0, NULL },
    { "/histogram -p b=64,bins=7 -i x=randn:1000 -i h=iota:4", 0, NULL },
    { "/blur3 -i x=randn:1000", 0, NULL },
    { "/jacobi -i x=randn:50x100", 0, NULL },
    { "/stencil3x3 -i x=randn:50x100 -i w=randn:3x3,1", 1e-5, NULL },
    { "/stencil3x3 -p T=bf16,br=3,bc=5 -i x=randn:7x11 -i w=randn:3x3,1", 1e-2, NULL },
};
enum { N_ROWS = sizeof rows / sizeof *rows };

typedef struct setting {
    const char *folder, *device;
    clp_schedule schedule;
    clp_order order;
    int64_t n_shuffles; /* kernels are checked; 0: they are compared */
    bool is_checked;
    int n_passed, n_failed, n_refused;
} setting;

/* ---- Layouts ---- */

typedef enum layout { PLAIN, GAPS, BACKWARDS, N_LAYOUTS } layout;
static const char *const layout_names[] = { "plain", "gaps", "backwards" };

typedef struct placed {
    guarded memory;
    int64_t strides[CLP_MAX_RANK];
    clp_array array;
    unsigned char *before; /* the memory's bytes before the run */
} placed;

static size_t elem_bytes(const clp_array *a)
{
    return (size_t)clp_dtype_bits(a->dtype) / 8;
}

static int64_t place_of(const clp_array *a, int64_t i)
{
    int64_t at = a->offset;
    for (int d = a->rank - 1; d >= 0; d--) {
        at += i % a->shape[d] * a->strides[d];
        i /= a->shape[d];
    }
    return at;
}

/* Lays a contiguous array out anew between guards. Packed dtypes and scalars have the plain layout only. */
static void lay_out(placed *p, const clp_array *from, layout l, bool is_scalar)
{
    p->array = *from;
    if (l == PLAIN || is_scalar || clpi_is_packed(from->dtype)) {
        p->memory = guarded_new(array_bytes(from));
        memcpy(p->memory.data, from->data, array_bytes(from));
        p->array.data = p->memory.data;
    } else {
        int64_t extent = l == GAPS ? 2 : 1;
        for (int d = from->rank - 1; d >= 0; d--) {
            p->strides[d] = extent;
            extent = extent * from->shape[d] + (l == GAPS ? 3 : 0);
        }
        p->memory = guarded_new((size_t)(extent + 5) * elem_bytes(from));
        p->array.data = p->memory.data;
        p->array.offset = 5;
        if (l == BACKWARDS)
            for (int d = 0; d < from->rank; d++) {
                p->array.offset += from->shape[d] > 0 ? p->strides[d] * (from->shape[d] - 1) : 0;
                p->strides[d] = -p->strides[d];
            }
        p->array.strides = p->strides;
        for (int64_t i = 0, n = array_elems(from); i < n; i++)
            memcpy((char *)p->array.data + (size_t)place_of(&p->array, i) * elem_bytes(from),
                   (const char *)from->data + (size_t)i * elem_bytes(from), elem_bytes(from));
    }
    p->before = malloc(p->memory.n_bytes + 1);
    if (!p->before)
        abort();
    memcpy(p->before, p->memory.data, p->memory.n_bytes);
}

/* Bytes that belong to no element, and everything of what is only read, are as they were. */
static bool rest_is_untouched(placed *p, bool is_written)
{
    if (!guarded_is_whole(&p->memory))
        return false;
    if (is_written && p->array.strides)
        for (int64_t i = 0, n = array_elems(&p->array); i < n; i++) {
            const size_t at = (size_t)place_of(&p->array, i) * elem_bytes(&p->array);
            memcpy(p->before + at, (const char *)p->memory.data + at, elem_bytes(&p->array));
        }
    return (is_written && !p->array.strides) || !memcmp(p->before, p->memory.data, p->memory.n_bytes);
}

/* ---- A row ---- */

static bool is_written(const job *j, int i)
{
    const clp_role role = clp_kernel_operand(j->kernel, i).role;
    return role == CLP_OUT || role == CLP_INOUT;
}

static bool compare(const char *words, const char *name, layout l, const clp_array *got, const clp_array *want,
                    double bound)
{
    const difference d = array_compare(got, want, bound, array_elems(want));
    if (d.n_beyond)
        fprintf(stderr,
                "%s: %s (%s): %" PRId64 " of %" PRId64 " elements differ; most, element %" PRId64
                ": interpreter %.9g, here %.9g\n",
                words, name, layout_names[l], d.n_beyond, array_elems(want), d.worst, d.want, d.got);
    return d.n_beyond == 0;
}

static bool check_layout(const setting *s, const row *r, const job *j, const clp_array *args, const clp_run_opts *opts, layout l)
{
    char why[4096];
    const bool is_right = is_sound(j->kernel, args, j->n, opts, (int)s->n_shuffles, false, why, sizeof why);
    if (r->finds ? !is_right && strstr(why, r->finds) : is_right)
        return true;
    fprintf(stderr, "%s (%s): %s should be found, but\n%s", r->words, layout_names[l], r->finds ? r->finds : "nothing", why);
    return false;
}

/* Runs job's kernel from the arrays that reference started from (start), and compares with what it ended with. */
static bool run_layout(const setting *s, const row *r, const job *j, const clp_array *start, const job *reference,
                       layout l)
{
    bool ok = true;
    placed *at = calloc((size_t)j->n + 1, sizeof *at);
    clp_array *args = calloc((size_t)j->n + 1, sizeof *args);
    if (!at || !args)
        abort();
    for (int i = 0; i < j->n; i++) {
        lay_out(&at[i], &start[i], l, clp_kernel_operand(j->kernel, i).role == CLP_SCALAR);
        args[i] = at[i].array;
    }
    clp_run_opts opts;
    job_run_opts(j, &opts);
    opts.order = s->order;
    opts.seed = 5;
    if (s->n_shuffles)
        ok = check_layout(s, r, j, args, &opts, l);
    const clp_status st = clp_run(j->kernel, args, j->n, &opts);
    if (st) {
        fprintf(stderr, "%s (%s): %s: %s\n", r->words, layout_names[l], clp_status_name(st), clp_last_error(j->ctx));
        ok = false;
    }
    for (int i = 0; i < j->n; i++) {
        const char *name = clp_kernel_operand(j->kernel, i).name;
        if (!rest_is_untouched(&at[i], is_written(j, i))) {
            fprintf(stderr, "%s: %s (%s): memory that is not the array's was written\n", r->words, name,
                    layout_names[l]);
            ok = false;
        }
        if (!st && is_written(j, i))
            ok = compare(r->words, name, l, &args[i], &reference->args[i], r->bound) && ok;
        guarded_free(&at[i].memory);
        free(at[i].before);
    }
    free(at);
    free(args);
    return ok;
}

static int run_reference(job *j, const options *o, tool_array *start)
{
    int status = job_open(j, o, "interp");
    if (!status)
        status = job_arrays(j, 0);
    for (int i = 0; !status && i < j->n; i++)
        status = array_copy(&start[i], &j->args[i]) ? DONE : fail("out of memory");
    clp_run_opts opts;
    job_run_opts(j, &opts);
    if (!status && clp_run(j->kernel, j->args, j->n, &opts))
        status = fail_library(j->ctx);
    return status;
}

/* 0 failed, 1 passed, 2 rightly refused. */
static int run_parsed(const setting *s, const row *r, options *o)
{
    enum { MAX_OPERANDS = 32 };
    job reference, j = { 0 };
    tool_array start[MAX_OPERANDS] = { 0 };
    clp_array args[MAX_OPERANDS] = { 0 };
    int result = 0;
    if (run_reference(&reference, o, start))
        goto done;
    o->schedule = s->schedule;
    const clp_context_opts opts = { .device = s->device, .schedule = s->schedule, .checked = s->is_checked };
    if (clp_context_new(&opts, &j.ctx))
        goto done;
    j.o = o;
    const clp_status st = r->words[0] == '/' ? clp_kernel_standard(j.ctx, o->file, o->params, &j.kernel)
                                             : clp_kernel_from_file(j.ctx, o->file, o->kernel, o->params, &j.kernel);
    if (st) {
        result = is_rightly_refused(j.ctx, st, reference.kernel) ? 2 : 0;
        printf("%s: %s: %s\n", result ? "refused" : "failed", r->words, clp_last_error(j.ctx));
        goto done;
    }
    j.n = reference.n;
    for (int i = 0; i < j.n; i++)
        args[i] = start[i].array;
    result = 1;
    for (int l = 0; l < N_LAYOUTS; l++)
        if (!run_layout(s, r, &j, args, &reference, (layout)l))
            result = 0;
done:
    clp_kernel_free(j.kernel);
    clp_context_free(j.ctx);
    for (int i = 0; i < reference.n && i < MAX_OPERANDS; i++)
        array_done(&start[i]);
    job_done(&reference);
    return result;
}

/* "chain -i x=..." is a kernel of kernels.plk, "/matmul ..." a standard one. */
static void run_row(setting *s, const row *r)
{
    char text[1024], file[1024];
    char *words[MAX_WORDS];
    int n = 0;
    snprintf(text, sizeof text, "%s", r->words);
    for (char *w = strtok(text, " "); w && n < MAX_WORDS; w = strtok(NULL, " "))
        words[n++] = w;
    const bool is_standard = words[0][0] == '/';
    snprintf(file, sizeof file, is_standard ? "%s%s" : "%s/kernels.plk:%s", is_standard ? "" : s->folder,
             words[0] + (is_standard ? 1 : 0));
    words[0] = file;
    options o;
    int result = 0;
    if (!options_parse(&o, TAKES_KERNEL | TAKES_ARRAYS | TAKES_RUN, "diff", n, words))
        result = run_parsed(s, r, &o);
    options_done(&o);
    s->n_failed += result == 0;
    s->n_passed += result == 1;
    s->n_refused += result == 2;
    if (!result)
        fprintf(stderr, "failed: %s\n", r->words);
}

static bool is_wanted(int n, char **starts, const row *r)
{
    for (int k = 0; k < n; k++)
        if (!strncmp(r->words, starts[k], strlen(starts[k])))
            return true;
    return n == 0;
}

int main(int argc, char **argv)
{
    static const char *const schedules[] = { "auto", "vector", "simt" };
    static const char *const orders[] = { "forward", "reverse", "shuffle" };
    if (argc < 5)
        return fail_usage("usage: diff FOLDER DEVICE auto|vector|simt forward|reverse|shuffle|checked|check:SHUFFLES [row...]");
    setting s = { .folder = argv[1], .device = argv[2], .is_checked = !strcmp(argv[4], "checked") };
    for (int i = 0; i < 3; i++) {
        if (!strcmp(argv[3], schedules[i]))
            s.schedule = (clp_schedule)i;
        if (!strcmp(argv[4], orders[i]))
            s.order = (clp_order)i;
    }
    if (!strncmp(argv[4], "check:", 6) && (!is_number(argv[4] + 6, &s.n_shuffles) || s.n_shuffles < 1))
        return fail_usage("check: expected a number of shuffled orders, got %s", argv[4] + 6);
    clp_context *ctx;
    const clp_context_opts opts = { .device = s.device };
    if (clp_context_new(&opts, &ctx)) {
        printf("%s\n", clp_last_error(NULL));
        const char *required = getenv("CLP_REQUIRE_CL");
        return required && *required == '1' ? FAILED : NO_DEVICE;
    }
    const bool is_tiny = argc > 5 && !strcmp(argv[5], "tiny");
    const row *table = is_tiny ? tiny : rows;
    for (int i = 0; i < (is_tiny ? n_tiny : N_ROWS); i++)
        if (is_wanted(argc - 5 - is_tiny, argv + 5 + is_tiny, &table[i]))
            run_row(&s, &table[i]);
    printf("%s, %s, %s: %d passed, %d failed, %d refused\n", clp_context_device(ctx), argv[3], argv[4], s.n_passed,
           s.n_failed, s.n_refused);
    clp_context_free(ctx);
    return s.n_failed || s.n_passed == 0 ? FAILED : DONE;
}
