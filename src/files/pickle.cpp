// SPDX-License-Identifier: Apache-2.0
#include "files/pickle.h"

namespace fc::files {

void PickleWriter::start() {
  op(Op::Proto);
  number(2, 1);
}

void PickleWriter::number(uint64_t v, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) text_ += static_cast<char>(v >> (8 * i));
}

void PickleWriter::integer(int64_t v) {
  if (v >= 0 && v <= 0xFF) {
    op(Op::BinInt1);
    number(static_cast<uint64_t>(v), 1);
  } else if (v >= 0 && v <= 0xFFFF) {
    op(Op::BinInt2);
    number(static_cast<uint64_t>(v), 2);
  } else if (v == static_cast<int32_t>(v)) {
    op(Op::BinInt);
    number(static_cast<uint64_t>(v), 4);
  } else {
    char bytes[8];
    for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(static_cast<uint64_t>(v) >> (8 * i));
    size_t n = 8;  // without bytes that only repeat the sign
    while (n > 1 && bytes[n - 1] == (v < 0 ? -1 : 0) && (bytes[n - 2] < 0) == (v < 0)) --n;
    long_integer({bytes, n});
  }
}

void PickleWriter::long_integer(std::string_view bytes) {
  const bool small = bytes.size() < 256;
  FC_CHECK_AS(ValueError, bytes.size() <= 0x7FFFFFFF, "int is too large to pickle");
  op(small ? Op::Long1 : Op::Long4);
  number(bytes.size(), small ? 1 : 4);
  text_ += bytes;
}

void PickleWriter::real(double v) {
  uint64_t bits;
  std::memcpy(&bits, &v, 8);
  op(Op::BinFloat);
  number(__builtin_bswap64(bits), 8);
}

void PickleWriter::text(std::string_view utf8) {
  FC_CHECK_AS(ValueError, utf8.size() <= 0xFFFFFFFF, "cannot serialize a string larger than 4GiB");
  op(Op::BinUnicode);
  number(utf8.size(), 4);
  text_ += utf8;
}

void PickleWriter::global(std::string_view module, std::string_view name) {
  op(Op::Global);
  ((text_ += module) += '\n') += name;
  text_ += '\n';
}

void PickleWriter::get(size_t memo) {
  const bool small = memo < 256;
  op(small ? Op::BinGet : Op::LongBinGet);
  number(memo, small ? 1 : 4);
}

void PickleWriter::put(size_t memo) {
  const bool small = memo < 256;
  FC_CHECK_AS(ValueError, memo <= 0xFFFFFFFF, "too many objects to pickle");
  op(small ? Op::BinPut : Op::LongBinPut);
  number(memo, small ? 1 : 4);
}

}  // namespace fc::files
