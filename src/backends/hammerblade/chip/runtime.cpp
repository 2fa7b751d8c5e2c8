// SPDX-License-Identifier: Apache-2.0
// What every program for the chip brings along: the start-up kernel, printing, copies and fills.
#include <kernel_common.hpp>
#include <stdarg.h>

extern "C" {

void* g_reduction_buffer;
bsg_barrier g_barrier;
__attribute__((section(".dram"))) uint32_t __hb_startup_words[2] = {};  // its arguments
__attribute__((section(".dram"))) int __hb_barrier_counts[HB_BARRIER_KIND ? 64 * 32 : 1] = {};

// The first launch of a program, on a grid of single tiles: C++ constructors do not run here.
__attribute__((noinline)) int tensorlib_hb_startup(uint32_t* buffer) {
  g_reduction_buffer = buffer;
  buffer[2 * __bsg_tile_group_id] = buffer[2 * __bsg_tile_group_id + 1] = 0;
  g_barrier.reset();
  return 0;
}

void* memcpy(void* __restrict to, const void* __restrict from, size_t n) {
  auto* d = static_cast<unsigned char*>(to);
  auto* s = static_cast<const unsigned char*>(from);
  if ((((uintptr_t)d | (uintptr_t)s) & 3) == 0) {
    auto* dw = static_cast<uint32_t*>(to);
    auto* sw = static_cast<const uint32_t*>(from);
    for (; n >= 16; n -= 16, dw += 4, sw += 4) {  // four loads under way
      const uint32_t a = sw[0], b = sw[1], c = sw[2], e = sw[3];
      dw[0] = a, dw[1] = b, dw[2] = c, dw[3] = e;
      __asm__ volatile("" ::: "memory");
    }
    for (; n >= 4; n -= 4) {
      *dw++ = *sw++;
      __asm__ volatile("" ::: "memory");
    }
    d = reinterpret_cast<unsigned char*>(dw);
    s = reinterpret_cast<const unsigned char*>(sw);
  }
  for (; n; --n) {
    *d++ = *s++;
    __asm__ volatile("" ::: "memory");  // no call of itself
  }
  return to;
}

void* memset(void* to, int value, size_t n) {
  auto* d = static_cast<unsigned char*>(to);
  for (; n && ((uintptr_t)d & 3); --n) *d++ = (unsigned char)value;
  auto* w = reinterpret_cast<uint32_t*>(d);
  const uint32_t word = (unsigned char)value * 0x01010101u;
  for (; n >= 4; n -= 4) {
    *w++ = word;
    __asm__ volatile("" ::: "memory");
  }
  for (d = reinterpret_cast<unsigned char*>(w); n; --n) {
    *d++ = (unsigned char)value;
    __asm__ volatile("" ::: "memory");
  }
  return to;
}

void* memmove(void* to, const void* from, size_t n) {
  auto* d = static_cast<unsigned char*>(to);
  auto* s = static_cast<const unsigned char*>(from);
  if (d <= s || d >= s + n) return memcpy(to, from, n);
  while (n--) {
    d[n] = s[n];
    __asm__ volatile("" ::: "memory");
  }
  return to;
}

int memcmp(const void* a, const void* b, size_t n) {
  auto* p = static_cast<const unsigned char*>(a);
  auto* q = static_cast<const unsigned char*>(b);
  for (; n; --n, ++p, ++q)
    if (*p != *q) return *p - *q;
  return 0;
}

size_t strlen(const char* text) {
  size_t n = 0;
  while (text[n]) ++n;
  return n;
}

}  // extern "C"

namespace {

void put(char c) { bsg_putchar(c); }

struct Form {
  bool left = false, zeros = false, plus = false, blank = false, other = false;
  int width = 0, precision = -1;
};

void pad(int n, char c) {
  for (; n > 0; --n) put(c);
}

// Sign or prefix, then digits.
void put_field(const Form& f, const char* prefix, const char* digits, int n) {
  const int before = (int)strlen(prefix), zeros = f.precision > n ? f.precision - n : 0;
  const int room = f.width - before - zeros - n;
  const bool fill = f.zeros && !f.left && f.precision < 0;
  if (!f.left && !fill) pad(room, ' ');
  for (const char* p = prefix; *p; ++p) put(*p);
  if (fill) pad(room, '0');
  pad(zeros, '0');
  for (int i = 0; i < n; ++i) put(digits[i]);
  if (f.left) pad(room, ' ');
}

// Digits of a number to the end of `room`; returns where they begin. A machine without mulh divides slowly, so by hand.
char* digits_of(unsigned long long value, unsigned base, bool upper, char* end) {
  do {
    const unsigned digit = (unsigned)(value % base);
    *--end = (char)(digit < 10 ? '0' + digit : (upper ? 'A' : 'a') + digit - 10);
    value /= base;
  } while (value);
  return end;
}

void put_integer(Form f, unsigned long long value, const char* prefix, unsigned base, bool upper) {
  char room[24];
  char* from = digits_of(value, base, upper, room + sizeof room);
  put_field(f, prefix, from, (int)(room + sizeof room - from));
}

// Fixed point with any number of decimals up to 9; larger numbers than 2^64 lose digits.
void put_float(Form f, double value) {
  const char* prefix = __builtin_signbit(value) ? "-" : f.plus ? "+" : f.blank ? " " : "";
  if (value != value || value - value != 0) {
    f.zeros = false;
    f.precision = -1;
    return put_field(f, value != value ? (__builtin_signbit(value) ? "-" : "") : prefix, value != value ? "nan" : "inf",
                     3);
  }
  if (value < 0) value = -value;
  const int decimals = f.precision < 0 ? 6 : f.precision > 9 ? 9 : f.precision;
  unsigned long long scale = 1;
  for (int i = 0; i < decimals; ++i) scale *= 10;
  auto whole = (unsigned long long)value;
  const double scaled = (value - (double)whole) * (double)scale;
  auto part = (unsigned long long)scaled;
  const double rest = scaled - (double)part;
  if (rest > 0.5 || (rest == 0.5 && ((decimals ? part : whole) & 1))) ++part;
  if (part >= scale) {
    part -= scale;
    ++whole;
  }
  char room[40];
  char* end = room + sizeof room;
  char* from = end;
  if (decimals) {
    from = digits_of(part, 10, false, end);
    while (end - from < decimals) *--from = '0';
    *--from = '.';
  }
  from = digits_of(whole, 10, false, from);
  f.precision = -1;
  put_field(f, prefix, from, (int)(end - from));
}

}  // namespace

extern "C" {

int bsg_printf(const char* form, ...) {
  va_list words;
  va_start(words, form);
  for (; *form; ++form) {
    if (*form != '%') {
      put(*form);
      continue;
    }
    ++form;
    Form f;
    for (;; ++form) {
      if (*form == '-') f.left = true;
      else if (*form == '0') f.zeros = true;
      else if (*form == '+') f.plus = true;
      else if (*form == ' ') f.blank = true;
      else if (*form == '#') f.other = true;
      else break;
    }
    if (*form == '*') {
      f.width = va_arg(words, int);
      ++form;
    }
    for (; *form >= '0' && *form <= '9'; ++form) f.width = f.width * 10 + (*form - '0');
    if (*form == '.') {
      f.precision = 0;
      if (*++form == '*') {
        f.precision = va_arg(words, int);
        ++form;
      }
      for (; *form >= '0' && *form <= '9'; ++form) f.precision = f.precision * 10 + (*form - '0');
    }
    int longs = 0;
    for (; *form == 'l' || *form == 'z' || *form == 'h' || *form == 't' || *form == 'j'; ++form)
      longs += *form == 'l' ? 1 : *form == 'j' ? 2 : 0;
    switch (*form) {
      case 'd':
      case 'i': {
        const long long value = longs > 1 ? va_arg(words, long long) : va_arg(words, int);
        put_integer(f, value < 0 ? 0ULL - (unsigned long long)value : (unsigned long long)value,
                    value < 0 ? "-"
                    : f.plus  ? "+"
                    : f.blank ? " "
                              : "",
                    10, false);
        break;
      }
      case 'u':
      case 'x':
      case 'X':
      case 'o': {
        const unsigned long long value = longs > 1 ? va_arg(words, unsigned long long) : va_arg(words, unsigned);
        const bool hexadecimal = *form == 'x' || *form == 'X';
        put_integer(f, value, hexadecimal && f.other && value ? (*form == 'x' ? "0x" : "0X") : "",
                    hexadecimal    ? 16
                    : *form == 'o' ? 8
                                   : 10,
                    *form == 'X');
        break;
      }
      case 'p': put_integer(f, va_arg(words, unsigned), "0x", 16, false); break;
      case 'c': {
        const char c = (char)va_arg(words, int);
        f.precision = -1;
        f.zeros = false;
        put_field(f, "", &c, 1);
        break;
      }
      case 's': {
        const char* text = va_arg(words, const char*);
        if (!text) text = "(null)";
        int n = 0;
        while (text[n] && (f.precision < 0 || n < f.precision)) ++n;
        f.precision = -1;
        f.zeros = false;
        put_field(f, "", text, n);
        break;
      }
      case 'f':
      case 'F':
      case 'e':
      case 'g': put_float(f, va_arg(words, double)); break;
      case '%': put('%'); break;
      case 0: --form; break;
      default: put('%'); put(*form);
    }
  }
  va_end(words);
  return 0;
}

void bsg_print_int(int value) { bsg_printf("%d", value); }
void bsg_print_unsigned(unsigned value) { bsg_printf("%u", value); }
void bsg_print_hexadecimal(unsigned value) { bsg_printf("%08X", value); }
void bsg_print_float(float value) { bsg_printf("%f", (double)value); }
void bsg_set_tile_x_y() {}

}  // extern "C"
