// SPDX-License-Identifier: Apache-2.0
#include "files/safetensors.h"

#include <algorithm>
#include <unordered_set>

#include "core/error.h"

namespace fc::files {
namespace {

constexpr uint64_t kMaxHeader = 100'000'000;  // the format's own limit

struct Name {
  const char* text;
  DType dtype;
};
// In the format's order: what comes later is written first.
constexpr Name kNames[] = {
    {"BOOL", DType::Bool},
    {"U8", DType::UInt8},
    {"I8", DType::Int8},
    {"F8_E5M2", DType::Float8_e5m2},
    {"F8_E4M3", DType::Float8_e4m3fn},
    {"I16", DType::Int16},
    {"U16", DType::UInt16},
    {"F16", DType::Float16},
    {"BF16", DType::BFloat16},
    {"I32", DType::Int32},
    {"U32", DType::UInt32},
    {"F32", DType::Float32},
    {"C64", DType::Complex64},
    {"F64", DType::Float64},
    {"I64", DType::Int64},
    {"U64", DType::UInt64},
};
size_t rank_of(DType t) {
  for (size_t i = 0; i < std::size(kNames); ++i)
    if (kNames[i].dtype == t) return i;
  raise<ValueError>("safetensors has no type ", t);
}

constexpr std::string_view kEscapes = "\"\\/bfnrt", kEscaped = "\"\\/\b\f\n\r\t";

// The JSON that headers consist of: objects, arrays, strings and whole numbers, nested as deep as the format goes.
class Json {
 public:
  explicit Json(std::string_view text) : rest_(text) {}
  [[noreturn]] void bad(const char* expected) { raise<ValueError>("safetensors: invalid header: expected ", expected); }
  bool accept(char c) {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n' || rest_[0] == '\r' || rest_[0] == '\t'))
      rest_.remove_prefix(1);
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c, const char* what) {
    if (!accept(c)) bad(what);
  }
  template <class F>
  void object(F&& member) {  // member(key) reads the value
    expect('{', "an object");
    std::unordered_set<std::string> keys;
    if (accept('}')) return;
    do {
      std::string key = string();
      if (!keys.insert(key).second) raise<ValueError>("safetensors: invalid header: '", key, "' is there twice");
      expect(':', "':'");
      member(key);
    } while (accept(','));
    expect('}', "'}'");
  }
  std::vector<int64_t> numbers() {
    std::vector<int64_t> out;
    expect('[', "a list of numbers");
    if (accept(']')) return out;
    do out.push_back(number());
    while (accept(','));
    expect(']', "']'");
    return out;
  }
  int64_t number() {
    accept('\0');  // skips spaces
    int64_t v = 0;
    size_t n = 0;
    for (; n < rest_.size() && rest_[n] >= '0' && rest_[n] <= '9'; ++n)
      if (__builtin_mul_overflow(v, int64_t{10}, &v) || __builtin_add_overflow(v, int64_t{rest_[n] - '0'}, &v))
        bad("a smaller number");
    if (n == 0 || (n > 1 && rest_[0] == '0')) bad("a whole number");
    rest_.remove_prefix(n);
    return v;
  }
  std::string string() {
    expect('"', "a string");
    std::string out;
    while (true) {
      const unsigned char c = take();
      if (c == '"') return out;
      if (c < 0x20) bad("no control character in a string");
      if (c == '\\') escape(out);
      else out += static_cast<char>(c);
    }
  }
  bool at_end() { return !accept('\0') && rest_.empty(); }

 private:
  unsigned char take() {
    if (rest_.empty()) bad("more");
    const char c = rest_[0];
    rest_.remove_prefix(1);
    return static_cast<unsigned char>(c);
  }
  void escape(std::string& out) {
    const unsigned char c = take();
    if (const size_t i = kEscapes.find(static_cast<char>(c)); i != kEscapes.npos) {
      out += kEscaped[i];
      return;
    }
    if (c != 'u') bad("an escape that exists");
    uint32_t v = hex();
    if (v >= 0xD800 && v < 0xDC00) {
      if (take() != '\\' || take() != 'u') bad("the second half of a surrogate pair");
      const uint32_t low = hex();
      if (low < 0xDC00 || low > 0xDFFF) bad("the second half of a surrogate pair");
      v = 0x10000 + ((v - 0xD800) << 10) + (low - 0xDC00);
    } else if (v >= 0xDC00 && v <= 0xDFFF) {
      bad("the first half of a surrogate pair");
    }
    const int more = v < 0x80 ? 0 : v < 0x800 ? 1 : v < 0x10000 ? 2 : 3;
    static constexpr unsigned char lead[] = {0, 0xC0, 0xE0, 0xF0};
    out += static_cast<char>(lead[more] | v >> (6 * more));
    for (int i = more - 1; i >= 0; --i) out += static_cast<char>(0x80 | ((v >> (6 * i)) & 0x3F));
  }
  uint32_t hex() {
    uint32_t v = 0;
    for (int i = 0; i < 4; ++i) {
      const unsigned char c = take();
      const int d = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
      if (d < 0) bad("four hexadecimal digits");
      v = v << 4 | static_cast<uint32_t>(d);
    }
    return v;
  }

  std::string_view rest_;
};

bool is_utf8(std::string_view s) {
  for (size_t i = 0; i < s.size();) {
    const auto c = static_cast<unsigned char>(s[i]);
    const size_t n = c < 0x80                ? 1
                     : c >= 0xC2 && c < 0xE0 ? 2
                     : c >= 0xE0 && c < 0xF0 ? 3
                     : c >= 0xF0 && c < 0xF5 ? 4
                                             : 0;
    if (n == 0 || n > s.size() - i) return false;
    uint32_t v = n == 1 ? c : c & (0x7Fu >> n);
    for (size_t k = 1; k < n; ++k) {
      const auto d = static_cast<unsigned char>(s[i + k]);
      if ((d & 0xC0) != 0x80) return false;
      v = v << 6 | (d & 0x3F);
    }
    static constexpr uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (v < least[n] || v > 0x10FFFF || (v >= 0xD800 && v <= 0xDFFF)) return false;
    i += n;
  }
  return true;
}

SafeTensor read_tensor(Json& json, const std::string& name, uint64_t data) {
  SafeTensor t;
  t.name = name;
  std::vector<int64_t> place;
  bool shaped = false;
  json.object([&](const std::string& key) {
    if (key == "dtype") {
      const std::string text = json.string();
      for (const Name& n : kNames)
        if (text == n.text) t.dtype = n.dtype;
      FC_CHECK_AS(ValueError, t.dtype != DType::Undefined, "safetensors: '", name, "' has type ", text,
                  ", which does not exist here");
    } else if (key == "shape") {
      t.sizes = json.numbers();
      shaped = true;
    } else if (key == "data_offsets") {
      place = json.numbers();
    } else {
      raise<ValueError>("safetensors: invalid header: '", name, "' has an unknown field '", key, "'");
    }
  });
  FC_CHECK_AS(ValueError, t.dtype != DType::Undefined && shaped && place.size() == 2 && place[0] <= place[1],
              "safetensors: invalid header: '", name, "' needs dtype, shape and two data_offsets in order");
  t.offset = static_cast<uint64_t>(place[0]) + data;
  t.bytes = static_cast<uint64_t>(place[1] - place[0]);
  uint64_t bytes = item_size(t.dtype);
  bool zero = false, fits = true;
  for (int64_t s : t.sizes) {
    zero |= s == 0;
    fits &= !__builtin_mul_overflow(bytes, static_cast<uint64_t>(s), &bytes) || zero;
  }
  if (zero) bytes = 0;
  FC_CHECK_AS(ValueError, fits && bytes == t.bytes, "safetensors: '", name, "' has ", t.bytes, " bytes for shape ",
              std::span<const int64_t>(t.sizes), " of ", t.dtype);
  return t;
}

void quote(std::string& out, std::string_view s) {
  FC_CHECK_AS(ValueError, is_utf8(s), "safetensors: names and metadata must be UTF-8");
  out += '"';
  for (char c : s) {
    static constexpr char digits[] = "0123456789abcdef";
    const auto u = static_cast<unsigned char>(c);
    if (const size_t i = kEscaped.find(c); i != kEscaped.npos && c != '/') (out += '\\') += kEscapes[i];
    else if (u < 0x20) ((out += "\\u00") += digits[u >> 4]) += digits[u & 15];
    else out += c;
  }
  out += '"';
}

}  // namespace

SafetensorsHeader read_safetensors(Source& source) {
  FC_CHECK_AS(ValueError, source.size() >= 8, "safetensors: header too small");
  uint64_t length = 0;
  const std::string head = source.read(0, 8);
  for (size_t i = 0; i < 8; ++i) length |= uint64_t{static_cast<unsigned char>(head[i])} << (8 * i);
  FC_CHECK_AS(ValueError, length <= kMaxHeader, "safetensors: header too large");
  FC_CHECK_AS(ValueError, length <= source.size() - 8, "safetensors: invalid header length");
  const std::string text = source.read(8, length);
  FC_CHECK_AS(ValueError, text.starts_with('{'), "safetensors: the header must begin with '{'");
  FC_CHECK_AS(ValueError, is_utf8(text), "safetensors: the header is not UTF-8");
  const uint64_t data = 8 + length;

  SafetensorsHeader header;
  Json json(text);
  json.object([&](const std::string& key) {
    if (key == "__metadata__")
      json.object([&](const std::string& k) { header.metadata.emplace_back(k, json.string()); });
    else header.tensors.push_back(read_tensor(json, key, data));
  });
  FC_CHECK_AS(ValueError, json.at_end(), "safetensors: invalid header: something follows the object");

  std::vector<const SafeTensor*> by_place;
  for (const SafeTensor& t : header.tensors) by_place.push_back(&t);
  std::sort(by_place.begin(), by_place.end(),
            [](auto a, auto b) { return std::pair(a->offset, a->bytes) < std::pair(b->offset, b->bytes); });
  uint64_t end = data;
  for (const SafeTensor* t : by_place) {
    FC_CHECK_AS(ValueError, t->offset == end, "safetensors: the place of '", t->name,
                "' overlaps another or leaves a hole");
    FC_CHECK_AS(ValueError, t->bytes <= source.size() - end, "safetensors: the file ends early");
    end += t->bytes;
  }
  FC_CHECK_AS(ValueError, end == source.size(), "safetensors: ", source.size() - end, " bytes belong to no tensor");
  return header;
}

std::string write_safetensors(SafetensorsHeader& header) {
  std::sort(header.tensors.begin(), header.tensors.end(), [](const SafeTensor& a, const SafeTensor& b) {
    const size_t ra = rank_of(a.dtype), rb = rank_of(b.dtype);
    return ra != rb ? ra > rb : a.name < b.name;
  });
  std::string out = "{";
  if (!header.metadata.empty()) {
    out += "\"__metadata__\":{";
    for (const auto& [key, value] : header.metadata) {
      if (out.back() != '{') out += ',';
      quote(out, key);
      out += ':';
      quote(out, value);
    }
    out += '}';
  }
  uint64_t at = 0;
  for (const SafeTensor& t : header.tensors) {
    FC_CHECK_AS(ValueError, t.name != "__metadata__", "safetensors: a tensor cannot be named __metadata__");
    if (out.size() > 1) out += ',';
    quote(out, t.name);
    out += str(":{\"dtype\":\"", kNames[rank_of(t.dtype)].text, "\",\"shape\":[");
    for (size_t i = 0; i < t.sizes.size(); ++i) out += str(i ? "," : "", t.sizes[i]);
    out += str("],\"data_offsets\":[", at, ",", at + t.bytes, "]}");
    at += t.bytes;
  }
  out += '}';
  out.append((8 - out.size() % 8) % 8, ' ');
  FC_CHECK_AS(ValueError, out.size() <= kMaxHeader, "safetensors: header too large");
  std::string length;
  for (size_t i = 0; i < 8; ++i) length += static_cast<char>(uint64_t{out.size()} >> (8 * i));
  return length + out;
}

}  // namespace fc::files
