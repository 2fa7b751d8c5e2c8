// SPDX-License-Identifier: Apache-2.0
// std::cout << tensor, in libtorch's form: rows of numbers, then [ CPUFloatType{2,3} ].
#include <cmath>
#include <cstdio>
#include <ostream>

#include <facula/front.h>

#include "define/calls.h"

namespace facula::front {
namespace {

using fc::Tensor;

std::string number(const Tensor& t) {
  Scalar s = item(t);
  if (s.is_bool()) return s.to_bool() ? "1" : "0";
  if (s.is_integral(false)) return fc::to_string(s);
  if (s.is_complex()) return fc::to_string(s);
  char text[40];
  std::snprintf(text, sizeof text, "%.4f", s.to_double());
  return text;
}

void matrix(std::ostream& out, const Tensor& t) {  // 1-d: one number a line; 2-d: one row a line
  size_t width = 0;
  Tensor flat = fc::reshape(t, fc::Dims{-1});
  std::vector<std::string> texts;
  for (int64_t i = 0; i < flat.numel(); ++i) {
    texts.push_back(number(fc::select(flat, 0, i)));
    width = std::max(width, texts.back().size());
  }
  int64_t columns = t.dim() == 2 ? t.size(1) : 1;
  for (size_t i = 0; i < texts.size(); ++i) {
    out << ' ' << std::string(width - texts[i].size(), ' ') << texts[i];
    if (static_cast<int64_t>(i + 1) % columns == 0) out << '\n';
    else out << ' ';
  }
}

void slices(std::ostream& out, const Tensor& t, std::string where) {
  if (t.dim() == 2) {
    out << '(' << where << ".,.) = \n";
    matrix(out, t);
    out << '\n';
    return;
  }
  for (int64_t i = 0; i < t.size(0); ++i) slices(out, fc::select(t, 0, i), where + std::to_string(i + 1) + ",");
}

}  // namespace

std::ostream& print(std::ostream& out, const Tensor& t) {
  if (!t.defined()) return out << "[ Tensor (undefined) ]";
  Tensor host = t.device().is_cpu() || t.device().is_meta() ? t : to(t, fc::Device{});
  if (!t.device().is_meta()) {
    if (host.dim() == 0) out << number(host) << '\n';
    else if (host.dim() <= 2) matrix(out, host);
    else slices(out, host, "");
  }
  std::string device(fc::device_type_name(t.device().type));
  for (char& c : device) c = static_cast<char>(std::toupper(c));
  out << "[ " << device << fc::info(t.dtype()).legacy << "Type{";
  for (size_t i = 0; i < t.sizes().size(); ++i) out << (i ? "," : "") << t.sizes()[i];
  return out << "} ]";
}

}  // namespace facula::front
