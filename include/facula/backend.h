/* SPDX-License-Identifier: Apache-2.0
 * The backend contract: plain C, one exported function, versioned structs. A backend is a shared library that
 * exports facula_backend_v2 and fills a fc_backend. Required are memory, copies and synchronisation; with these
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

#include "families.h"
#include "opcodes/base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FC_ABI_VERSION 2

/* --- what every function returns */
enum fc_status {
  FC_OK = 0,
  FC_ERROR = 1,         /* RuntimeError in Python */
  FC_OUT_OF_MEMORY = 2, /* the host gives its cache back and tries once more, then raises OutOfMemoryError */
  FC_UNSUPPORTED = 3,   /* not done, nothing changed: NotImplementedError; run_operator: the host goes another way */
  FC_BAD_INDEX = 4      /* IndexError */
};

/* --- the call at hand: which device, which stream, where the error text goes. Valid until the function returns, on the
 * thread that it was called on. */
enum fc_context_flags {
  FC_CONTEXT_OBSERVED = 1 /* somebody looks: report_launch is heard, and device_ns read */
};
typedef struct fc_context {
  uint32_t size;
  int32_t device;      /* 0 … device_count - 1 */
  void* stream;        /* made by stream_create, or null: the device's default stream */
  char* message;       /* on failure: the reason, zero-terminated */
  size_t message_size; /* bytes at `message`, at least 256 */
  void* host_data;     /* the host's; leave it alone */
  uint64_t device_ns;  /* out: nanoseconds the device worked for this call, simulated or real, besides launches that
                          were reported; 0: it cannot tell yet */
  const char* op;      /* the operator that this is done for, "aten::add.Tensor"; "" outside of operators */
  uint64_t call_id;    /* of that call, as observers see it; 0 while nobody looks at calls */
  uint32_t flags;      /* fc_context_flags */
  uint32_t reserved;
} fc_context;

/* --- values: arguments and results of operators by name, and of the backend's own functions */
enum fc_tag {
  FC_TAG_NONE,
  FC_TAG_TENSOR,
  FC_TAG_BOOL,
  FC_TAG_INT,
  FC_TAG_DOUBLE,
  FC_TAG_NUMBER,
  FC_TAG_STRING, /* zero-terminated, n bytes without the zero */
  FC_TAG_DTYPE,
  FC_TAG_INTS,
  FC_TAG_DOUBLES,
  FC_TAG_TENSORS,
  FC_TAG_OTHER, /* a device, layout, memory format, generator: nothing that a device computes with */
  FC_TAG_UNMADE /* among results: its size is the backend's to say, by make_result or make_view */
};
typedef struct fc_tensor {
  void* data; /* null where absent (ndim is 0 then), or without elements */
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
    const fc_tensor* tensor; /* TENSOR, TENSORS */
    const int64_t* ints;
    const double* doubles;
    const fc_number* number;
  } u;
} fc_value;

/* --- what the host gives. Functions with a context work until the function that got it returns, on its thread;
 * elsewhere they do nothing and say FC_ERROR or null. The others may be called on any thread. */
enum fc_log_level { FC_LOG_DEBUG, FC_LOG_INFO, FC_LOG_WARNING };
typedef struct fc_launch { /* something that the device ran */
  uint32_t size;
  uint32_t reserved;
  const char* name;    /* of the kernel */
  const char* text;    /* what else is to be said about it, or null */
  uint64_t device_ns;  /* how long the device worked, simulated or real; 0: it cannot tell */
  uint64_t start_ns;   /* when it began, by the device's clock; 0: it cannot tell */
  uint64_t bytes;      /* read and written */
  uint64_t waited_ns;  /* how long the caller waited for it before it reports it; 0: it was only queued */
} fc_launch;
typedef struct fc_host {
  uint32_t size;
  int32_t abi_version;
  const char* version; /* of Facula */
  void (*log)(int32_t level, const char* text);
  /* Device memory from the host's cache, until the current function returns (work queued on its stream may go on
   * using it). Null: out of memory. */
  void* (*workspace)(fc_context* context, size_t bytes);
  /* Tells observers of a launch, under the call at hand. Free of charge to leave out without FC_CONTEXT_OBSERVED. */
  void (*report_launch)(fc_context* context, const fc_launch* launch);
  /* In run_operator and call: memory for result number `result` (of a list: its tensor number `item`, in order), whose
   * size the data decide. Row-major. */
  int (*make_result)(fc_context* context, int32_t result, int32_t item, int32_t dtype, int32_t ndim,
                     const int64_t* sizes, fc_tensor* made);
  /* The same for a result that is a view of a tensor among the arguments (of a list: its tensor number `arg_item`). */
  int (*make_view)(fc_context* context, int32_t result, int32_t item, int32_t arg, int32_t arg_item,
                   int64_t byte_offset, int32_t ndim, const int64_t* sizes, const int64_t* byte_strides);
  /* What the device found out after the function had returned: raised by the next synchronisation of the stream or the
   * device, or copy to the host on it (null: the default stream). Of several the first is kept. */
  void (*report_error)(const char* backend, int32_t device, void* stream, int32_t status, const char* message);
  /* What `supports` and `operators` answer has changed: both are asked anew. `operators` is asked before this returns,
   * so hold no lock that it needs. */
  void (*claims_changed)(const char* backend);
} fc_host;

/* --- what kernels load and store, one by one, for tools that look at it. Told on the thread that launches; the watcher
 * calls nothing of the backend but `line`. */
enum fc_access_kind { FC_ACCESS_LOAD, FC_ACCESS_STORE, FC_ACCESS_ATOMIC };
enum fc_access_type { FC_ACCESS_UNKNOWN, FC_ACCESS_INTEGER, FC_ACCESS_FLOAT };
typedef struct fc_access {
  uint64_t site;    /* the place in the kernel's code */
  uint64_t address; /* of device memory */
  uint64_t value;   /* loaded, or what lies there after a store or atomic; the upper bytes are 0 */
  uint64_t before;  /* of a store or atomic: what lay there */
  uint32_t worker;  /* who did it: a number within the launch */
  uint8_t bytes;    /* 1, 2, 4 or 8 */
  uint8_t kind;     /* fc_access_kind */
  uint8_t type;     /* fc_access_type: what the instruction says */
  uint8_t reserved;
} fc_access;
typedef struct fc_watched_launch {
  uint32_t size;
  int32_t device;
  const char* kernel;
  const char* mode; /* how it ran */
  int32_t ended;    /* 0: it begins; 1: it has ended, and all its accesses are told */
  int32_t told;     /* whether they are: 0: it ran in a way that cannot tell */
  uint64_t lost;    /* at the end: how many could not be told for want of memory */
  /* The line of a site, "kernel.cpp:12", until the launch has ended; returns its length. */
  int64_t (*line)(uint64_t site, char* out, size_t size);
} fc_watched_launch;
typedef struct fc_watcher {
  uint32_t size;
  uint32_t reserved;
  void* context;
  void (*launch)(void* context, const fc_watched_launch* launch);
  void (*accesses)(void* context, const fc_access* all, size_t count);
} fc_watcher;

/* --- what a backend is asked before a family function is called. The answer is kept until claims_changed, so it may
 * depend on nothing but these fields. Operand 0 is the result, then the inputs (matmul: c, a, b; reduce, scan and sort:
 * out, in, indices; gather: out, in, index; scatter: out, src, index; random: out, p). */
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
  int32_t opcode;  /* of map, reduce, scatter, scan, random; else 0 */
  int32_t compute; /* of map and reduce; else the result's type */
  int32_t n_operands;
  int32_t dtype[FC_MAX_OPERANDS];
  int32_t layout[FC_MAX_OPERANDS];
} fc_query;

/* --- what a backend is. `self` goes to every function. Functions may be called from several threads at once. */
enum fc_copy_kind { FC_HOST_TO_DEVICE, FC_DEVICE_TO_HOST, FC_DEVICE_TO_DEVICE /* of the same number */ };
enum fc_copy_flags {
  FC_COPY_NON_BLOCKING = 1 /* the host's side is memory of host_alloc, which the program leaves alone until it has
                              synchronised; host_free waits for such copies */
};
enum fc_backend_flags {
  FC_BACKEND_SINGLE_DEVICE = 1, /* there is one device of this type, ever: it is named and printed without an index */
  FC_BACKEND_INT32_INDICES = 4, /* indices that max_pool2d and sparse tensors give out are int32, not int64 */
  FC_BACKEND_EXACT_MEMORY = 2   /* alloc gets the requested bytes, not rounded up; free comes at once: nothing is cached */
};

typedef struct fc_backend {
  uint32_t size; /* in: what the host knows; out: what the backend filled, at most that */
  int32_t abi_version;
  const char* name; /* the device type in programs: lower-case letters, digits, '_' */
  void* self;
  int32_t device_count;
  uint32_t flags; /* fc_backend_flags */

  /* Required. */
  int (*describe)(void* self, fc_context*, char* text, size_t text_size); /* one line about the device */
  /* bytes is a multiple of 64, unless memory is exact; the address is a multiple of 64 either way */
  int (*alloc)(void* self, fc_context*, size_t bytes, void** data);
  int (*free)(void* self, fc_context*, void* data, size_t bytes);
  /* When it returns, the host's side may be read or overwritten, unless the flags say otherwise; the device's side is in
   * stream order. */
  int (*copy)(void* self, fc_context*, void* dst, const void* src, size_t bytes, int32_t kind, uint32_t flags);
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
  int (*random)(void* self, fc_context*, const fc_random*);

  /* Fast paths: whole operators by name ("aten::native_layer_norm"), tried before families and decompositions. The list
   * ends with null; its strings live as long as the process, and run_operator gets the very pointer that stood in it.
   * Arguments come in the schema's order. The schema says what becomes of results:
   *   - new tensors (lists of them too) have memory, made by the operator's shape rule; what that leaves absent (a
   *     gradient nobody asked for) is NONE. Without such a rule, because the data decide the size, they are UNMADE.
   *   - results of in-place and out= forms are the arguments that are written; out= has its size already.
   *   - views are UNMADE; make_view makes them.
   *   - numbers are the backend's to write: tag and value (BOOL, INT, DOUBLE or NUMBER with a number of its own).
   * FC_UNSUPPORTED declines one call. */
  const char* const* (*operators)(void* self);
  int (*run_operator)(void* self, fc_context*, const char* name, const fc_value* args, int32_t n_args,
                      fc_value* results, int32_t n_results);

  /* Streams and events; all or none. They act on context->stream. */
  int (*stream_create)(void* self, fc_context*, void** stream);
  int (*stream_destroy)(void* self, fc_context*, void* stream);
  int (*event_create)(void* self, fc_context*, void** event);
  int (*event_destroy)(void* self, fc_context*, void* event);
  int (*event_record)(void* self, fc_context*, void* event);
  int (*event_wait)(void* self, fc_context*, void* event); /* the stream waits for it */
  int (*event_query)(void* self, fc_context*, void* event, int32_t* done);
  /* These two by themselves: the host waits until an event is done; how long the device took from one to another. */
  int (*event_synchronise)(void* self, fc_context*, void* event);
  int (*event_elapsed)(void* self, fc_context*, void* start, void* end, double* milliseconds);

  /* Host memory that the device reaches fast; both or none. */
  int (*host_alloc)(void* self, fc_context*, size_t bytes, void** data);
  int (*host_free)(void* self, fc_context*, void* data, size_t bytes);

  /* From another device of this backend to context->device; null: through the host. */
  int (*copy_peer)(void* self, fc_context*, void* dst, const void* src, int32_t src_device, size_t bytes,
                   uint32_t flags);

  /* Numbers a backend counts (launches, cycles, bytes): names end with null, one value each. */
  const char* const* counter_names;
  int (*counters)(void* self, fc_context*, uint64_t* values);
  int (*memory_info)(void* self, fc_context*, uint64_t* free_bytes, uint64_t* total_bytes);

  /* Functions of the backend's own, which programs call by name: torch.backends.call("name", "reload", …). The list ends
   * with null; a line is a name, then what else help shall say: "reload(path): compiles …". The result's text or numbers
   * must live until this thread's next call of the backend; a tensor is made by make_result(context, 0, 0, …). */
  const char* const* (*functions)(void* self);
  int (*call)(void* self, fc_context*, const char* function, const fc_value* args, int32_t n_args, fc_value* result);

  /* A Python module whose names are added to torch.<name>, imported when that is first asked for; null: none. */
  const char* python_module;

  /* Tells the watcher, which is copied, of launches and accesses from now on; null: no longer. One at a time. */
  int (*watch)(void* self, fc_context*, const fc_watcher* watcher);
} fc_backend;

#define FC_BACKEND_REQUIRED_SIZE offsetof(fc_backend, supports) /* the shortest struct that is accepted */

/* The one function that a backend's library exports. */
typedef int (*fc_backend_entry)(const fc_host* host, fc_backend* backend);
#define FC_BACKEND_ENTRY "facula_backend_v2"

#ifdef __cplusplus
}
#endif
#endif
