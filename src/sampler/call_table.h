// SPDX-License-Identifier: Apache-2.0
// Exact counts of calls between shared objects, in a file of fixed size that is mapped shared: children of a fork
// count in the same one, and a process that crashes leaves it as it stands. python/facula/library_profile/record.py
// reads it. Any thread may count, signal handlers included: entries are claimed and added to by atomic instructions.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace fc::sampler {

constexpr size_t kCallees = 32768, kProductCallees = 1024, kShards = 4, kPairs = 65536, kProducts = 8192,
                 kObjects = 4096;
constexpr size_t kNameBytes = 4 << 20;

struct ObjectEntry {
  uint64_t address;  // what it is loaded at
  uint32_t name;     // offset of its path in the names
  uint32_t chosen;   // which of the names that were asked for it has, from 1: calls into it are counted
};

struct CalleeEntry {
  uint64_t offset;  // in its object
  uint32_t object, name;
};

struct PairEntry {
  uint64_t key;  // return address | callee << 48; 0 is free
  uint64_t count;
  uint64_t offset;  // of the return address in its object
  uint32_t object;  // 1 + its number; 0: no object holds the caller
  uint32_t unused;
};

// Products of matrices (and vectors: n is 1) by what they were called with.
struct ProductEntry {
  uint64_t key;  // of all that follows up to k; 0 is free
  uint32_t callee;
  char transpose_a, transpose_b;
  char layout;  // 'R'ow or 'C'olumn major
  char kind;    // s d c z
  uint64_t m, n, k;
  uint64_t count, nanoseconds;
};
static_assert(sizeof(ProductEntry) == 56);

struct CallTable {
  char magic[8];
  uint32_t process;
  uint32_t call_ps;           // what counting one call costs, in picoseconds
  uint64_t lost;              // calls that found no entry
  uint32_t objects, callees;  // in use
  uint64_t name_bytes;
  uint64_t uncounted;  // functions that found no entry
  uint64_t sizes[6];   // kCallees, kShards, kPairs, kProducts, kObjects, kNameBytes
  alignas(4096) ObjectEntry object[kObjects];
  CalleeEntry callee[kCallees];
  PairEntry pair[kShards][kPairs];
  ProductEntry product[kProducts];
  char names[kNameBytes];
};

// How a function that multiplies hands over its sizes.
struct ProductForm {
  enum Interface : uint8_t { None, Cblas, Fortran, OneDnn } interface;
  bool vector, wide;  // gemv; 64-bit integers under Cblas and Fortran
  char kind;          // s d c z
};

struct Counted {
  uint64_t target;
  ProductForm form;
};

extern CallTable* calls;
extern Counted counted[kCallees];
extern uint32_t product_callees[kProductCallees];  // those of counted that multiply
extern const void* object_maps[kObjects];          // link_map of each object of the table

}  // namespace fc::sampler
