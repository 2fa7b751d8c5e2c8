// SPDX-License-Identifier: Apache-2.0
#include "define/tensor_text.h"

#include <cctype>
#include <cmath>
#include <cstdio>

#include "core/format.h"
#include "define/calls.h"

namespace fc {
namespace {

constexpr int64_t line_size = 80;

// One way of writing for all numbers of a matrix.
struct NumberFormat {
  int width = 0;
  char style = 'g';  // of printf
  double scale = 1;  // what every number is divided by

  explicit NumberFormat(std::span<const double> v) {
    bool integers = true, any = false;
    double least = 1, most = 1;
    for (double x : v) {
      if (!std::isfinite(x)) continue;
      if (x != std::ceil(x)) integers = false;
      double size = std::fabs(x);
      least = any ? std::min(least, size) : size;
      most = any ? std::max(most, size) : size;
      any = true;
    }
    auto digits = [](double x) { return x != 0 ? static_cast<int>(std::floor(std::log10(x))) + 1 : 1; };
    int low = any ? digits(least) : 1, high = any ? digits(most) : 1;
    if (integers) {
      width = high > 9 ? 11 : high + 1;
      style = high > 9 ? 'e' : 'g';
    } else if (high - low > 4) {
      width = 11 + (std::abs(high) > 99 || std::abs(low) > 99);
      style = 'e';
    } else if (high > 5 || high < 0) {
      width = 7;
      style = 'f';
      scale = std::pow(10, high - 1);
    } else {
      width = high == 0 ? 7 : high + 6;
      style = 'f';
    }
  }
  void put(std::string& out, double x) const {
    char text[400];
    const char* how = style == 'e' ? "%*.4e" : style == 'f' ? "%*.4f" : "%*g";
    std::snprintf(text, sizeof text, how, width, x / scale);
    out += text;
  }
  void put_scale(std::string& out) const {
    char text[40];
    std::snprintf(text, sizeof text, "%g *\n", scale);
    out += text;
  }
};

void matrix(std::string& out, std::span<const double> v, int64_t rows, int64_t columns, size_t indent) {
  NumberFormat format(v);
  out.append(indent, ' ');
  const int64_t per_line = (line_size - static_cast<int64_t>(indent)) / (format.width + 1);
  for (int64_t first = 0; first < columns; first += per_line) {
    const int64_t last = std::min(first + per_line, columns) - 1;
    if (per_line < columns) {
      if (first) out += '\n';
      out += str("Columns ", first + 1, " to ", last + 1);
      out.append(indent, ' ');
    }
    if (format.scale != 1) {
      format.put_scale(out);
      out.append(indent, ' ');
    }
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = first; c <= last; ++c) {
        format.put(out, v[static_cast<size_t>(r * columns + c)]);
        if (c < last) {
          out += ' ';
          continue;
        }
        out += '\n';
        if (r + 1 < rows) out.append(indent + (format.scale != 1), ' ');
      }
  }
}

}  // namespace

std::string tensor_text(const Tensor& t) {
  if (!t.defined()) return "[ Tensor (undefined) ]";
  std::string out;
  if (!t.device().is_meta()) {
    Tensor host = detach(t);
    if (is_complex(t.dtype())) host = call<"aten::real", Tensor>(host);
    if (!t.device().is_cpu())
      host = call<"aten::to.device", Tensor>(host, Device{}, host.dtype(), false, false, std::optional<MemoryFormat>());
    host = contiguous(to_dtype(host, DType::Float64));
    std::span v(static_cast<const double*>(host.data()), static_cast<size_t>(host.numel()));
    if (t.dim() == 0) {
      char text[40];
      std::snprintf(text, sizeof text, "%g\n", v[0]);
      out += text;
    } else if (t.dim() == 1 && !v.empty()) {
      NumberFormat format(v);
      if (format.scale != 1) format.put_scale(out);
      for (double x : v) {
        format.put(out, x);
        out += '\n';
      }
    } else if (t.dim() == 2 && !v.empty()) {
      matrix(out, v, t.size(0), t.size(1), 0);
    } else if (t.dim() > 2 && !v.empty()) {
      const int64_t rows = t.size(t.dim() - 2), columns = t.size(t.dim() - 1), outer = t.dim() - 2;
      std::vector<int64_t> at(static_cast<size_t>(outer));
      for (bool more = true, start = true; more; start = false) {
        if (!start) out += '\n';
        out += '(';
        int64_t slice = 0;
        for (int64_t d = 0; d < outer; ++d) {
          slice = slice * t.size(d) + at[static_cast<size_t>(d)];
          out += str(at[static_cast<size_t>(d)] + 1, ",");
        }
        out += ".,.) =\n";
        matrix(out, v.subspan(static_cast<size_t>(slice * rows * columns), static_cast<size_t>(rows * columns)), rows,
               columns, 1);
        more = false;  // the first dimension runs fastest
        for (int64_t d = 0; d < outer && !more; ++d) {
          auto& i = at[static_cast<size_t>(d)];
          more = ++i < t.size(d);
          if (!more) i = 0;
        }
      }
    }
  }
  std::string device(device_type_name(t.device().type));
  for (char& c : device) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  out += str("[ ", device, info(t.dtype()).legacy, "Type{");
  for (int64_t d = 0; d < t.dim(); ++d) out += str(d ? "," : "", t.size(d));
  return out + "} ]";
}

}  // namespace fc
