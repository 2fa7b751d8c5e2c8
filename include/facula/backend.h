/* SPDX-License-Identifier: Apache-2.0
 * The backend contract: plain C, one exported function, versioned structs. A backend is a shared library that
 * exports facula_backend_v1 and fills a fc_backend. Required are memory, copies and synchronisation; with these
 * alone every program runs, by counted fallback to the CPU. Then come compute families, each one function that takes
 * an opcode and strided operands; a backend claims calls one by one through `supports`. See docs/add-a-backend.md.
 *
 * Rules: every struct starts with its size in bytes, so that either side may be older; functions return 0 for
 * success and put a message into the error buffer otherwise; nothing throws across this line; strings are UTF-8.
 * Strides are in bytes; data pointers are device memory of the backend that is called. A family is never called for
 * an empty shape. */
#ifndef FACULA_BACKEND_H
#define FACULA_BACKEND_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FC_ABI_VERSION 1
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

/* Every pointwise formula: X(number, name, inputs, parameters). Numbers never change; new ones are added at the end.
 * Names are the operators'. Those up to `where` are the base from which the others can be decomposed. */
#define FC_MAP_OPCODES(X)                                                                                                                 \
  X(0, neg, 1, 0)                                                                                                                         \
  X(1, abs, 1, 0)                                                                                                                         \
  X(2, exp, 1, 0) X(3, log, 1, 0) X(4, sin, 1, 0) X(5, cos, 1, 0) X(6, sqrt, 1, 0) X(7, reciprocal, 1, 0) X(                              \
      8, floor, 1, 0) X(9, trunc, 1, 0) X(10, logical_not, 1, 0) X(11, isnan, 1, 0) X(12, add, 2, 1) X(13, sub, 2, 1)                     \
      X(14, mul, 2, 0) X(15, div, 2, 0) X(16, div_floor, 2, 0) X(17, remainder, 2, 0) X(18, pow, 2, 0)                                    \
          X(19, maximum, 2, 0) X(20, minimum, 2, 0) X(21, lt, 2, 0) X(22, le, 2, 0) X(23, eq, 2, 0) X(24, ne, 2, 0) X(                    \
              25, bitwise_and, 2, 0) X(26, bitwise_or, 2, 0) X(27, bitwise_xor, 2, 0) X(28, bitwise_left_shift, 2, 0)                     \
              X(29, bitwise_right_shift, 2, 0) X(30, where, 3, 0) X(31, gt, 2, 0) X(32, ge, 2, 0) X(33, tanh, 1, 0)                       \
                  X(34, erf, 1, 0) X(35, log1p, 1, 0) X(36, expm1, 1, 0) X(37, rsqrt, 1, 0) X(38, tan, 1, 0)                              \
                      X(39, asin, 1, 0) X(40, acos, 1, 0) X(41, atan, 1, 0) X(42, sinh, 1, 0) X(43, cosh, 1, 0) X(                        \
                          44, asinh, 1, 0) X(45, acosh, 1, 0) X(46, atanh, 1, 0) X(47, exp2, 1, 0) X(48, log2, 1, 0)                      \
                          X(49, log10, 1, 0) X(50, ceil, 1, 0) X(51, round, 1, 0) X(52, frac, 1, 0) X(53, sign, 1, 0)                     \
                              X(54, sgn, 1, 0) X(55, signbit, 1, 0) X(56, square, 1, 0) X(57, sigmoid, 1, 0) X(                           \
                                  58, erfc, 1, 0) X(59, erfinv, 1, 0) X(60, lgamma, 1, 0) X(61, digamma, 1, 0)                            \
                                  X(62, isinf, 1, 0) X(63, isfinite, 1, 0) X(64, isposinf, 1, 0) X(65, isneginf, 1, 0) X(                 \
                                      66,                                                                                                 \
                                      bitwise_not,                                                                                        \
                                      1, 0) X(67, conj_physical, 1, 0)                                                                    \
                                      X(68, angle, 1, 0) X(69, relu, 1, 0) X(70, gelu, 1, 0) X(71, gelu_tanh, 1, 0) X(                    \
                                          72,                                                                                             \
                                          silu,                                                                                           \
                                          1, 0) X(73, mish, 1, 0)                                                                         \
                                          X(74, softplus, 1, 2) X(75, leaky_relu, 1, 1) X(76, elu, 1, 3) X(                               \
                                              77,                                                                                         \
                                              hardtanh,                                                                                   \
                                              1, 2) X(78, hardswish, 1, 0)                                                                \
                                              X(79, hardsigmoid, 1, 0) X(80, log_sigmoid, 1, 0) X(81, threshold, 1, 2) X(                 \
                                                  82,                                                                                     \
                                                  nan_to_num,                                                                             \
                                                  1, 3) X(83, deg2rad, 1, 0)                                                              \
                                                  X(84, rad2deg, 1, 0) X(85, sinc, 1, 0) X(86, i0, 1, 0) X(87, logit, 1, 1) X(            \
                                                      88,                                                                                 \
                                                      round_decimals,                                                                     \
                                                      1, 1) X(89, positive, 1, 0)                                                         \
                                                      X(90, div_trunc, 2, 0) X(91, fmod, 2, 0) X(92, atan2, 2, 0) X(93, fmax, 2, 0) X(    \
                                                          94,                                                                             \
                                                          fmin,                                                                           \
                                                          2, 0) X(95, hypot, 2, 0)                                                        \
                                                          X(96, copysign, 2, 0) X(97, nextafter, 2, 0) X(98, logaddexp, 2, 0) X(          \
                                                              99,                                                                         \
                                                              logaddexp2,                                                                 \
                                                              2, 0) X(100, xlogy, 2, 0)                                                   \
                                                              X(101, logical_and, 2, 0) X(102, logical_or, 2, 0) X(                       \
                                                                  103, logical_xor,                                                       \
                                                                  2, 0) X(104, gcd, 2, 0)                                                 \
                                                                  X(105, lcm, 2, 0) X(106, heaviside, 2, 0) X(107, clamp, 3, 0) X(        \
                                                                      108,                                                                \
                                                                      clamp_min,                                                          \
                                                                      2, 0) X(109, clamp_max, 2, 0)                                       \
                                                                      X(110, lerp, 3, 0) X(111, addcmul, 3, 1) X(                         \
                                                                          112, addcdiv,                                                   \
                                                                          3, 1) X(113, ldexp, 2, 0)                                       \
                                                                          X(114, floor_divide, 2, 0) X(115, sigmoid_backward, 2, 0) X(    \
                                                                              116,                                                        \
                                                                              tanh_backward,                                              \
                                                                              2, 0) X(117, gelu_backward, 2, 0)                           \
                                                                              X(118, gelu_tanh_backward, 2, 0) X(                         \
                                                                                  119, silu_backward,                                     \
                                                                                  2,                                                      \
                                                                                  0) X(120, threshold_backward, 2, 1)                     \
                                                                                  X(121, leaky_relu_backward, 2, 1) X(                    \
                                                                                      122,                                                \
                                                                                      elu_backward,                                       \
                                                                                      2,                                                  \
                                                                                      3) X(123, hardtanh_backward, 2, 2)                  \
                                                                                      X(124, hardswish_backward, 2, 0) X(                 \
                                                                                          125,                                            \
                                                                                          hardsigmoid_backward,                           \
                                                                                          2,                                              \
                                                                                          0) X(126, softplus_backward, 2, 2)              \
                                                                                          X(127, mish_backward, 2,                        \
                                                                                            0) X(128,                                     \
                                                                                                 log_sigmoid_backward,                    \
                                                                                                 2,                                       \
                                                                                                 0) X(129, xlog1py, 2, 0)                 \
                                                                                              X(130, polygamma, 1,                        \
                                                                                                1) X(131, real, 1,                        \
                                                                                                     0) X(132, imag, 1, 0)                \
                                                                                                  X(133, complex, 2, 0) X(                \
                                                                                                      134,                                \
                                                                                                      rsub,                               \
                                                                                                      2,                                  \
                                                                                                      1) X(135, masked_fill, 3, 0)        \
                                                                                                      X(136,                              \
                                                                                                        logit_backward,                   \
                                                                                                        2,                                \
                                                                                                        1) X(137,                         \
                                                                                                             special_erfcx,               \
                                                                                                             1,                           \
                                                                                                             0) X(138, smooth_l1, 2, 1)   \
                                                                                                          X(139,                          \
                                                                                                            huber,                        \
                                                                                                            2,                            \
                                                                                                            1) X(140,                     \
                                                                                                                 cube,                    \
                                                                                                                 1,                       \
                                                                                                                 0)                       \
                                                                                                              X(141,                      \
                                                                                                                inverse_square,           \
                                                                                                                1,                        \
                                                                                                                0) X(142,                 \
                                                                                                                     hardshrink,          \
                                                                                                                     1,                   \
                                                                                                                     1)                   \
                                                                                                                  X(143,                  \
                                                                                                                    softshrink,           \
                                                                                                                    1,                    \
                                                                                                                    1) X(144,             \
                                                                                                                         shrink_backward, \
                                                                                                                         2,               \
                                                                                                                         1)               \
                                                                                                                      X(145,              \
                                                                                                                        prelu,            \
                                                                                                                        2,                \
                                                                                                                        0)                \
                                                                                                                          X(146,          \
                                                                                                                            i1,           \
                                                                                                                            1,            \
                                                                                                                            0)

#define FC_ENUMERATE(number, name, inputs, params) FC_MAP_##name = number,
enum fc_map_opcode { FC_MAP_OPCODES(FC_ENUMERATE) FC_MAP_COUNT };
#undef FC_ENUMERATE

enum fc_reduce_opcode {
  FC_REDUCE_SUM,
  FC_REDUCE_PROD,
  FC_REDUCE_MAX,
  FC_REDUCE_MIN,
  FC_REDUCE_ARGMAX,
  FC_REDUCE_ARGMIN,
  FC_REDUCE_ANY,
  FC_REDUCE_ALL,
  FC_REDUCE_MEAN,
  FC_REDUCE_NANSUM,
  FC_REDUCE_SUM_ABS,
  FC_REDUCE_SUM_SQUARES,
  FC_REDUCE_SUM_DEVIATIONS, /* of (in - shift) squared */
  FC_REDUCE_COUNT
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
 * input, which is contiguous then. shift: for SUM_DEVIATIONS, of the compute type, with the strides of out. */
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
 * it can read them; a device checks too and returns an error. */
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

/* out[i] = op of in[0..i] along dim; in and out have one type. indices, for max and min: the place of the last extreme. */
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

enum fc_family {
  FC_FAMILY_COPY,
  FC_FAMILY_MAP,
  FC_FAMILY_REDUCE,
  FC_FAMILY_MATMUL,
  FC_FAMILY_GATHER,
  FC_FAMILY_SCATTER,
  FC_FAMILY_SCAN,
  FC_FAMILY_SORT,
  FC_FAMILY_COUNT
};

/* --- what every function returns */
enum fc_status {
  FC_OK = 0,
  FC_ERROR = 1,         /* RuntimeError in Python */
  FC_OUT_OF_MEMORY = 2, /* the host gives its cache back and tries once more, then raises OutOfMemoryError */
  FC_UNSUPPORTED = 3,   /* not done, nothing changed: NotImplementedError; run_operator: the host goes another way */
  FC_BAD_INDEX = 4      /* IndexError */
};

/* --- the call at hand: which device, which stream, where the error text goes. Valid until the function returns. */
typedef struct fc_context {
  uint32_t size;
  int32_t device;      /* 0 … device_count - 1 */
  void* stream;        /* made by stream_create, or null: the device's default stream */
  char* message;       /* on failure: the reason, zero-terminated */
  size_t message_size; /* bytes at `message`, at least 256 */
  void* host_data;     /* the host's; leave it alone */
} fc_context;

/* --- what the host gives */
enum fc_log_level { FC_LOG_DEBUG, FC_LOG_INFO, FC_LOG_WARNING };
typedef struct fc_host {
  uint32_t size;
  int32_t abi_version;
  const char* version; /* of Facula */
  void (*log)(int32_t level, const char* text);
  /* Device memory from the host's cache, until the current function returns (work queued on its stream may go on
   * using it). Null: out of memory. */
  void* (*workspace)(fc_context* context, size_t bytes);
} fc_host;

/* --- what a backend is asked before a family function is called. The answer is kept, so it may depend on nothing
 * but these fields. Operand 0 is the result, then the inputs (matmul: c, a, b; reduce, scan and sort: out, in,
 * indices; gather: out, in, index; scatter: out, src, index). */
#define FC_MAX_OPERANDS (FC_MAX_INPUTS + 1)
enum fc_layout {
  FC_LAYOUT_ABSENT,     /* no such operand */
  FC_LAYOUT_NUMBER,     /* one host number for all elements */
  FC_LAYOUT_CONTIGUOUS, /* row-major, without gaps */
  FC_LAYOUT_STRIDED,    /* any other strides */
  FC_LAYOUT_REPEATED    /* some stride is 0 along a size above 1 */
};
typedef struct fc_query {
  uint32_t size;
  int32_t family;
  int32_t opcode;  /* of map, reduce, scatter, scan; else 0 */
  int32_t compute; /* of map and reduce; else the result's type */
  int32_t n_operands;
  int32_t dtype[FC_MAX_OPERANDS];
  int32_t layout[FC_MAX_OPERANDS];
} fc_query;

/* --- operators by name: arguments in the schema's order */
enum fc_tag {
  FC_TAG_NONE,
  FC_TAG_TENSOR,
  FC_TAG_BOOL,
  FC_TAG_INT,
  FC_TAG_DOUBLE,
  FC_TAG_NUMBER,
  FC_TAG_STRING,
  FC_TAG_DTYPE,
  FC_TAG_INTS,
  FC_TAG_DOUBLES,
  FC_TAG_TENSORS,
  FC_TAG_OTHER /* a device, layout, memory format, generator: nothing that a device computes with */
};
typedef struct fc_tensor {
  void* data;
  const int64_t* sizes;
  const int64_t* strides; /* bytes */
  int32_t dtype, ndim;
} fc_tensor;
typedef struct fc_value {
  int32_t tag;
  int32_t n; /* of a list or string */
  union {
    int64_t i; /* bool, int, dtype */
    double d;
    const char* text;
    const fc_tensor* tensor; /* TENSOR (null where absent), TENSORS */
    const int64_t* ints;
    const double* doubles;
    const fc_number* number;
  } u;
} fc_value;

/* --- what a backend is. `self` goes to every function. Functions may be called from several threads at once. */
enum fc_copy_kind { FC_HOST_TO_DEVICE, FC_DEVICE_TO_HOST, FC_DEVICE_TO_DEVICE /* of the same number */ };

typedef struct fc_backend {
  uint32_t size; /* in: what the host knows; out: what the backend filled, at most that */
  int32_t abi_version;
  const char* name; /* the device type in programs: lower-case letters, digits, '_' */
  void* self;
  int32_t device_count;
  int32_t reserved;

  /* Required. */
  int (*describe)(void* self, fc_context*, char* text, size_t text_size); /* one line about the device */
  int (*alloc)(void* self, fc_context*, size_t bytes, void** data); /* bytes is a multiple of 64; so is the address */
  int (*free)(void* self, fc_context*, void* data, size_t bytes);
  /* When it returns, the host's side may be read or overwritten; the device's side is in stream order. */
  int (*copy)(void* self, fc_context*, void* dst, const void* src, size_t bytes, int32_t kind);
  int (*fill_bytes)(void* self, fc_context*, void* data, uint8_t value, size_t bytes);
  int (*synchronise)(void* self, fc_context*); /* the stream's work is done; a null stream: the whole device's */

  /* Compute families; any may be null. A call is made only if supports answered 1 for it. */
  int (*supports)(void* self, const fc_query*);
  int (*family_copy)(void* self, fc_context*, const fc_copy*);
  int (*map)(void* self, fc_context*, const fc_map*);
  int (*reduce)(void* self, fc_context*, const fc_reduce*);
  int (*matmul)(void* self, fc_context*, const fc_matmul*);
  int (*gather)(void* self, fc_context*, const fc_gather*);
  int (*scatter)(void* self, fc_context*, const fc_scatter*);
  int (*scan)(void* self, fc_context*, const fc_scan*);
  int (*sort)(void* self, fc_context*, const fc_sort*);

  /* Fast paths: whole operators by name ("aten::native_layer_norm"), tried before families and decompositions. The
   * host has made the results' memory (by the operator's shape rule); FC_UNSUPPORTED declines one call. */
  const char* const* operators; /* ends with null */
  int (*run_operator)(void* self, fc_context*, const char* name, const fc_value* args, int32_t n_args,
                      const fc_tensor* results, int32_t n_results);

  /* Streams and events; all or none. They act on context->stream. */
  int (*stream_create)(void* self, fc_context*, void** stream);
  int (*stream_destroy)(void* self, fc_context*, void* stream);
  int (*event_create)(void* self, fc_context*, void** event);
  int (*event_destroy)(void* self, fc_context*, void* event);
  int (*event_record)(void* self, fc_context*, void* event);
  int (*event_wait)(void* self, fc_context*, void* event); /* the stream waits for it */
  int (*event_query)(void* self, fc_context*, void* event, int32_t* done);

  /* Host memory that the device reaches fast; both or none. */
  int (*host_alloc)(void* self, fc_context*, size_t bytes, void** data);
  int (*host_free)(void* self, fc_context*, void* data, size_t bytes);

  /* Numbers a backend counts (launches, cycles, bytes): names end with null, one value each. */
  const char* const* counter_names;
  int (*counters)(void* self, fc_context*, uint64_t* values);
  int (*memory_info)(void* self, fc_context*, uint64_t* free_bytes, uint64_t* total_bytes);
} fc_backend;

#define FC_BACKEND_REQUIRED_SIZE offsetof(fc_backend, supports) /* the shortest struct that is accepted */

/* The one function that a backend's library exports. */
typedef int (*fc_backend_entry)(const fc_host* host, fc_backend* backend);
#define FC_BACKEND_ENTRY "facula_backend_v1"

#ifdef __cplusplus
}
#endif
#endif
