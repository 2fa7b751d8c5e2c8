/* SPDX-License-Identifier: Apache-2.0
 * The compute families of the backend contract: one struct per family says what is asked of a device. Part of
 * backend.h, which has the rules. */
#ifndef FACULA_FAMILIES_H
#define FACULA_FAMILIES_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FC_MAX_INPUTS 4
#define FC_MAX_PARAMS 4

/* Element types have PyTorch's ScalarType numbers. */
enum fc_dtype {
  FC_UINT8 = 0,
  FC_INT8 = 1,
  FC_INT16 = 2,
  FC_INT32 = 3,
  FC_INT64 = 4,
  FC_FLOAT16 = 5,
  FC_FLOAT32 = 6,
  FC_FLOAT64 = 7,
  FC_COMPLEX32 = 8,
  FC_COMPLEX64 = 9,
  FC_COMPLEX128 = 10,
  FC_BOOL = 11,
  FC_BFLOAT16 = 15,
  FC_FLOAT8_E5M2 = 23,
  FC_FLOAT8_E4M3FN = 24,
  FC_UINT16 = 27,
  FC_UINT32 = 28,
  FC_UINT64 = 29
};

enum fc_scan_opcode { FC_SCAN_SUM, FC_SCAN_PROD, FC_SCAN_MAX, FC_SCAN_MIN, FC_SCAN_LOGSUMEXP };
enum fc_scatter_opcode { FC_SCATTER_SET, FC_SCATTER_ADD, FC_SCATTER_MUL, FC_SCATTER_MAX, FC_SCATTER_MIN };

typedef struct fc_number { /* a host number; the field for its category is set */
  int32_t category;        /* 0 bool, 1 integer, 2 floating, 3 complex, 4 integer >= 2^63 as the bits of i */
  int32_t reserved;
  int64_t i;
  double re, im;
} fc_number;

typedef struct fc_operand {
  void* data;             /* null: the operand is the number below, for every element */
  const int64_t* strides; /* bytes, one per dimension of the call's shape; 0 repeats */
  int32_t dtype;
  int32_t reserved;
  fc_number value;
} fc_operand;

/* out[i] = formula(in[0][i], in[1][i], …; params): computed in `compute`, operands are converted on the way. */
typedef struct fc_map {
  uint32_t size;
  int32_t opcode;
  int32_t n_in, n_params;
  int32_t ndim;
  int32_t compute;
  const int64_t* shape;
  fc_operand out;
  fc_operand in[FC_MAX_INPUTS];
  fc_number params[FC_MAX_PARAMS];
} fc_map;

/* dst[i] = src[i], converting the type; both on the called device. A null src.data fills with src.value. */
typedef struct fc_copy {
  uint32_t size;
  int32_t ndim;
  const int64_t* shape;
  fc_operand dst, src;
} fc_copy;

/* out has stride 0 along the reduced dimensions; no reduced dimension has size 0. indices: for argmax/argmin the int64
 * result (out.data may be null); for max/min optional. The index is the position along `dim`; with dim -1 in the whole
 * input, which is contiguous then. shift: for sum_deviations, of the compute type, with the strides of out. A sum of
 * bool counts: it is computed in int64. */
typedef struct fc_reduce {
  uint32_t size;
  int32_t opcode;
  int32_t ndim;
  int32_t compute;
  const int64_t* shape; /* of the input */
  fc_operand in, out, indices;
  int32_t dim;
  int32_t reserved;
  fc_operand shift;
} fc_reduce;

/* c[b] = alpha * a[b] @ b[b] + beta * c[b]; all three of type dtype, any strides. */
typedef struct fc_matmul {
  uint32_t size;
  int32_t dtype;
  int64_t batch, m, n, k;
  void *a, *b, *c;
  int64_t a_batch, a_row, a_col, b_batch, b_row, b_col, c_batch, c_row, c_col; /* bytes */
  double alpha, beta;
} fc_matmul;

/* out[i] = in[i with coordinate `dim` replaced by index[i]]; shape is index's. Indices are checked by the host where
 * it can read them; a device checks too, and returns FC_BAD_INDEX or reports it later (fc_host.report_error). */
typedef struct fc_gather {
  uint32_t size;
  int32_t ndim;
  const int64_t* shape;
  fc_operand out, in, index;
  int32_t dim;
  int32_t reserved;
  int64_t in_size; /* in's size along dim */
} fc_gather;

/* out[i with coordinate dim replaced by index[i]] op= src[i]; shape is index's. */
typedef struct fc_scatter {
  uint32_t size;
  int32_t opcode;
  int32_t ndim;
  int32_t dim;
  const int64_t* shape;
  fc_operand out, src, index;
  int64_t out_size;
} fc_scatter;

/* out[i] = op of in[0..i] along dim; in and out have one type. indices, for max and min: of the last extreme. */
typedef struct fc_scan {
  uint32_t size;
  int32_t opcode;
  int32_t ndim;
  int32_t dim;
  const int64_t* shape;
  fc_operand in, out, indices;
} fc_scan;

/* Stable sort along dim; indices are int64. */
typedef struct fc_sort {
  uint32_t size;
  int32_t ndim;
  int32_t dim;
  int32_t descending;
  const int64_t* shape;
  fc_operand in, out, indices;
} fc_sort;

/* out[i] = a number drawn from a distribution. Numbers come from Philox4x32-10 with key `seed`: element i, counted
 * row-major over the shape, is made from the four words of counter `offset + i`; random.hpp has the recipe. The host
 * has moved the generator past these counters. */
enum fc_random_opcode {
  FC_RANDOM_UNIFORM,     /* [a, b) */
  FC_RANDOM_NORMAL,      /* mean a, standard deviation b */
  FC_RANDOM_LOG_NORMAL,  /* exp of a normal number */
  FC_RANDOM_EXPONENTIAL, /* rate a */
  FC_RANDOM_CAUCHY,      /* median a, scale b */
  FC_RANDOM_GEOMETRIC,   /* probability a: 1, 2, … */
  FC_RANDOM_BERNOULLI,   /* 1 with probability a, or that of the element of p, else 0 */
  FC_RANDOM_INTEGER      /* low + (0 … range - 1); range 0: all 2^64 */
};
typedef struct fc_random {
  uint32_t size;
  int32_t opcode;
  int32_t ndim;
  int32_t reserved;
  const int64_t* shape;
  fc_operand out; /* never complex: those are drawn as twice as many real numbers */
  fc_operand p;   /* of bernoulli: probabilities, with null strides: absent */
  double a, b;
  int64_t low;
  uint64_t range;
  uint64_t seed, offset;
} fc_random;

enum fc_family {
  FC_FAMILY_COPY,
  FC_FAMILY_MAP,
  FC_FAMILY_REDUCE,
  FC_FAMILY_MATMUL,
  FC_FAMILY_GATHER,
  FC_FAMILY_SCATTER,
  FC_FAMILY_SCAN,
  FC_FAMILY_SORT,
  FC_FAMILY_RANDOM,
  FC_FAMILY_COUNT
};

#ifdef __cplusplus
}
#endif
#endif
