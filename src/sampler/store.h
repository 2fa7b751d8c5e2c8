// SPDX-License-Identifier: Apache-2.0
// The file in which a profiled process counts its samples: a tree of calls, mapped shared, so that a process that
// crashes or is killed leaves it behind as it stands. python/facula/library_profile/record.py reads it.
//
// Records follow the header, each a multiple of eight bytes; a record's id is its offset divided by eight. A record is
// found by (kind, parent, ref, value) through an index in private memory. Records are only added, so children of a fork
// go on with the same file: at worst two processes add the same record, which readers take as one.
//
// Everything except `open` may be called in a signal handler on any thread: no locks, no allocation, no libc state.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace fc::sampler {

inline int this_process = 0;     // set at the start and in children of forks: asking the kernel costs each sample
constexpr int kFirstFile = 700;  // descriptors out of the way of programs that count on small ones

enum class Kind : uint16_t {
  None,
  Thread,  // value: process << 32 | thread; payload: the thread's name
  Native,  // ref: its Object, or 0 for code that no file holds; value: address in the object (of the call, for callers)
  Python,  // ref: its Code; value: bytes into the bytecode, times 2, plus 1 for what C called
  Object,  // value: address it is loaded at; payload: path
  Code,    // value: address; payload: CodeText and its three texts
};

struct Record {
  Kind kind;
  uint16_t words;  // size of the record divided by eight
  uint32_t parent, ref;
  std::atomic<uint32_t> ticks;  // that ended here
  uint64_t value;

  void* payload() { return this + 1; }
};
static_assert(sizeof(Record) == 24);

struct CodeText {
  int32_t first_line;
  uint16_t bytes[3];   // of file name, qualified name, line table
  uint8_t width[3];    // bytes per character: 1, 2, 4
  uint8_t version[2];  // of Python: 3, 11
  uint8_t unused;
};
static_assert(sizeof(CodeText) == 16);

struct Header {
  static constexpr uint32_t kForbidden = UINT32_MAX;  // in other_python: the kernel does not let us read frames
  char magic[8];
  uint32_t period_ns, process;
  std::atomic<uint64_t> used, allocated;  // bytes of the file
  std::atomic<uint64_t> samples, ticks;   // a sample is worth several ticks where the kernel's clock is coarser
  std::atomic<uint64_t> lost;             // ticks that found no room
  std::atomic<uint64_t> cut;              // samples whose stack could not be followed to its end
  std::atomic<uint64_t> handler_ns;       // spent in taking samples
  uint32_t python;                        // version << 8 | subversion of the interpreter whose frames are read, or 0
  uint32_t other_python;                  // the same, of one whose frames are not known here
  char program[512];
};

class Store {
 public:
  bool open(const char* folder, uint32_t period_ns);
  Header& header() const { return *header_; }
  Record* at(uint32_t id) const { return reinterpret_cast<Record*>(base_ + uint64_t{id} * 8); }

  // The record's id, or 0.
  uint32_t find(Kind, uint32_t parent, uint32_t ref, uint64_t value) const;
  // Room for a record with that much payload behind it, or null when the file is full. publish() makes it known.
  Record* reserve(Kind, uint32_t parent, uint32_t ref, uint64_t value, size_t payload = 0);
  uint32_t publish(Record*);
  uint32_t find_or_add(Kind, uint32_t parent, uint32_t ref, uint64_t value);

 private:
  bool grow(uint64_t to);

  std::byte* base_ = nullptr;
  Header* header_ = nullptr;
  std::atomic<uint32_t>* index_ = nullptr;
  int file_ = -1;
};

uint32_t hash(uint64_t a, uint64_t b);

}  // namespace fc::sampler
