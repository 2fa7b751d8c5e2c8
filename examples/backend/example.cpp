// SPDX-License-Identifier: Apache-2.0
// A complete backend: a make-believe accelerator whose memory the host cannot touch. Device addresses belong to a
// range without access rights; the "device" sees the same bytes through a second range. A program that reads device
// memory from the host crashes at once instead of working by luck.
//
// It reaches tier 1: copies and casts, fills, the base pointwise formulas, reductions, matrix products; and it draws
// its own random numbers. Everything else runs by decomposition into these, or on the CPU, counted.
#include <sys/mman.h>

#include <cmath>
#include <facula/backend.hpp>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace fb = facula::backend;

namespace {

constexpr size_t kMemory = size_t{4} << 30;  // of each device; pages cost nothing until they are used
constexpr int kDevices = 2;

// One device's memory: blocks are handed out upwards; freed ones are kept by size.
class Memory {
 public:
  Memory() {
    outside_ = map(PROT_NONE);
    inside_ = map(PROT_READ | PROT_WRITE);
  }
  void* alloc(size_t bytes) {  // the host asks for multiples of 64
    std::lock_guard lock(mutex_);
    if (std::vector<void*>& list = free_[bytes]; !list.empty()) {
      void* data = list.back();
      list.pop_back();
      return data;
    }
    if (bytes > kMemory - top_) return nullptr;
    return outside_ + std::exchange(top_, top_ + bytes);
  }
  void free(void* data, size_t bytes) {
    std::lock_guard lock(mutex_);
    free_[bytes].push_back(data);
  }
  ptrdiff_t shift() const { return inside_ - outside_; }  // from a device address to where the device sees it

 private:
  static char* map(int rights) {
    void* p = mmap(nullptr, kMemory, rights, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) fb::fail("no address space for the device's memory");
    return static_cast<char*>(p);
  }
  char *outside_, *inside_;
  std::mutex mutex_;
  size_t top_ = 0;
  std::map<size_t, std::vector<void*>> free_;
};

// The base formulas. Unary ones ignore b.
template <class T>
T formula(int opcode, T a, T b, T alpha) {
  using U = std::conditional_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, uint64_t, T>;  // wraps around
  constexpr bool real = std::is_floating_point_v<T>, integer = !real && !std::is_same_v<T, bool>;
  auto nan_or = [](T x, T y, T otherwise) { return x != x ? x : y != y ? y : otherwise; };
  switch (opcode) {
    case FC_MAP_abs: return a < T(0) ? T(U(0) - U(a)) : a == T(0) ? T(0) : a;
    case FC_MAP_logical_not: return a == T(0);
    case FC_MAP_isnan: return a != a;
    case FC_MAP_maximum: return nan_or(a, b, a < b ? b : a);
    case FC_MAP_minimum: return nan_or(a, b, b < a ? b : a);
    case FC_MAP_lt: return a < b;
    case FC_MAP_le: return a <= b;
    case FC_MAP_eq: return a == b;
    case FC_MAP_ne: return a != b;
    default: break;
  }
  if constexpr (std::is_same_v<T, bool>) {
    switch (opcode) {
      case FC_MAP_add: return a || (b && alpha);
      case FC_MAP_mul: return a && b;
      case FC_MAP_bitwise_and: return a && b;
      case FC_MAP_bitwise_or: return a || b;
      case FC_MAP_bitwise_xor: return a != b;
      default: break;
    }
  } else {
    switch (opcode) {
      case FC_MAP_neg: return T(U(0) - U(a));
      case FC_MAP_add: return T(U(a) + U(b) * U(alpha));
      case FC_MAP_sub: return T(U(a) - U(b) * U(alpha));
      case FC_MAP_mul: return T(U(a) * U(b));
      default: break;
    }
  }
  if constexpr (integer) {
    const bool minus_one = std::is_signed_v<T> && b == T(-1);  // the smallest number divided by it would trap
    const T q = b == 0 ? T(0) : minus_one ? T(U(0) - U(a)) : T(a / b);
    const T r = b == 0 || minus_one ? T(0) : T(a % b);
    const bool apart = r != 0 && (a < 0) != (b < 0);
    const bool inside = b >= 0 && b < T(8 * sizeof(T));
    switch (opcode) {
      case FC_MAP_floor:
      case FC_MAP_trunc: return a;
      case FC_MAP_div_floor: return T(q - apart);
      case FC_MAP_remainder: return T(apart ? r + b : r);
      case FC_MAP_pow: {
        if (b < 0) return a == 1 ? T(1) : a == T(-1) ? (b % 2 ? T(-1) : T(1)) : T(0);
        U result = 1, base = U(a);
        for (U e = U(b); e; e >>= 1, base *= base)
          if (e & 1) result *= base;
        return T(result);
      }
      case FC_MAP_bitwise_and: return T(a & b);
      case FC_MAP_bitwise_or: return T(a | b);
      case FC_MAP_bitwise_xor: return T(a ^ b);
      case FC_MAP_bitwise_left_shift: return inside ? T(U(a) << b) : T(0);
      case FC_MAP_bitwise_right_shift: return inside ? T(a >> b) : T(a < 0 ? -1 : 0);
      default: break;
    }
  }
  if constexpr (real) {
    switch (opcode) {
      case FC_MAP_exp: return std::exp(a);
      case FC_MAP_log: return std::log(a);
      case FC_MAP_sin: return std::sin(a);
      case FC_MAP_cos: return std::cos(a);
      case FC_MAP_sqrt: return std::sqrt(a);
      case FC_MAP_reciprocal: return 1 / a;
      case FC_MAP_floor: return std::floor(a);
      case FC_MAP_trunc: return std::trunc(a);
      case FC_MAP_div: return a / b;
      case FC_MAP_pow: return std::pow(a, b);
      case FC_MAP_remainder:
      case FC_MAP_div_floor: {
        T r = std::fmod(a, b);
        bool apart = r != 0 && (r < 0) != (b < 0);
        if (opcode == FC_MAP_remainder) return apart ? r + b : r;
        return b == 0 ? a / b : std::round((a - r) / b) - (apart ? 1 : 0);
      }
      default: break;
    }
  }
  fb::fail("no such formula for this type", FC_UNSUPPORTED);
}

bool has_formula(int opcode, int type) {
  bool real = type == FC_FLOAT32 || type == FC_FLOAT64, boolean = type == FC_BOOL;
  // clang-format off
  switch (opcode) {
    case FC_MAP_exp: case FC_MAP_log: case FC_MAP_sin: case FC_MAP_cos: case FC_MAP_sqrt: case FC_MAP_reciprocal:
    case FC_MAP_div: return real;
    case FC_MAP_bitwise_left_shift: case FC_MAP_bitwise_right_shift: return !real && !boolean;
    case FC_MAP_bitwise_and: case FC_MAP_bitwise_or: case FC_MAP_bitwise_xor: return !real;
    case FC_MAP_neg: case FC_MAP_abs: case FC_MAP_sub: case FC_MAP_floor: case FC_MAP_trunc: case FC_MAP_div_floor:
    case FC_MAP_remainder: case FC_MAP_pow: return !boolean;
    default: return opcode <= FC_MAP_where;
  }
  // clang-format on
}

class Example final : public fb::Backend {
 public:
  using fb::Backend::Backend;
  int device_count() override { return kDevices; }
  std::string describe(fc_context& c) override {
    return "example accelerator " + std::to_string(c.device) + ", memory apart from the host's";
  }
  void* alloc(fc_context& c, size_t bytes) override { return memory_[c.device].alloc(bytes); }
  void free(fc_context& c, void* data, size_t bytes) override { memory_[c.device].free(data, bytes); }
  void copy_bytes(fc_context& c, void* dst, const void* src, size_t bytes, fc_copy_kind kind, bool) override {
    ptrdiff_t shift = memory_[c.device].shift();
    std::memmove(static_cast<char*>(dst) + (kind == FC_DEVICE_TO_HOST ? 0 : shift),
                 static_cast<const char*>(src) + (kind == FC_HOST_TO_DEVICE ? 0 : shift), bytes);
  }
  void fill_bytes(fc_context& c, void* data, uint8_t value, size_t bytes) override {
    std::memset(static_cast<char*>(data) + memory_[c.device].shift(), value, bytes);
  }
  void synchronise(fc_context&) override {}  // nothing is queued: every function is done when it returns

  bool supports(const fc_query& q) override {
    for (int i = 0; i < q.n_operands; ++i)
      if (q.layout[i] != FC_LAYOUT_ABSENT && !fb::storable(q.dtype[i])) return false;
    switch (q.family) {
      case FC_FAMILY_COPY: return true;
      case FC_FAMILY_MAP: return fb::visitable(q.compute) && has_formula(q.opcode, q.compute);
      case FC_FAMILY_REDUCE: return fb::visitable(q.compute) && q.opcode <= FC_REDUCE_all;
      case FC_FAMILY_MATMUL: return q.compute == FC_FLOAT32 || q.compute == FC_FLOAT64;
      case FC_FAMILY_RANDOM: return true;
      default: return false;
    }
  }

  void copy(fc_context& c, const fc_copy& k) override {
    ptrdiff_t shift = memory_[c.device].shift();
    auto move = [&](auto as) {  // through the widest type of the kind, so that nothing is lost
      fb::In<decltype(as)> in(k.src, shift);
      fb::Out<decltype(as)> out(k.dst, shift);
      fb::for_each(k.ndim, k.shape, [&](const int64_t* i) { out.set(i, k.ndim, in.at(i, k.ndim)); });
    };
    bool integers = k.src.data ? (k.src.dtype <= FC_INT64 || k.src.dtype == FC_BOOL) : k.src.value.category <= 1;
    integers ? move(int64_t()) : move(double());
  }

  void map(fc_context& c, const fc_map& k) override {
    ptrdiff_t shift = memory_[c.device].shift();
    fb::visit(k.compute, [&](auto as) {
      using T = decltype(as);
      const T alpha = k.n_params ? fb::number<T>(k.params[0]) : T(1);
      fb::Out<T> out(k.out, shift);
      if (k.opcode == FC_MAP_where) {
        fb::In<bool> condition(k.in[0], shift);
        fb::In<T> a(k.in[1], shift), b(k.in[2], shift);
        fb::for_each(k.ndim, k.shape, [&](const int64_t* i) {
          out.set(i, k.ndim, condition.at(i, k.ndim) ? a.at(i, k.ndim) : b.at(i, k.ndim));
        });
        return;
      }
      fb::In<T> a(k.in[0], shift), b(k.in[k.n_in - 1], shift);
      fb::for_each(k.ndim, k.shape, [&](const int64_t* i) {
        out.set(i, k.ndim, formula<T>(k.opcode, a.at(i, k.ndim), b.at(i, k.ndim), alpha));
      });
    });
  }

  void reduce(fc_context& c, const fc_reduce& k) override {
    ptrdiff_t shift = memory_[c.device].shift();
    fb::visit(k.compute, [&](auto as) {
      using T = decltype(as);
      using Wide = std::conditional_t<std::is_floating_point_v<T>, double, T>;  // sums of floats in double
      struct Partial {
        Wide value;
        int64_t index;
        char *out, *indices;
      };
      fb::In<T> in(k.in, shift);
      auto address = [&](const fc_operand& o, const int64_t* i) {
        char* p = static_cast<char*>(o.data);
        for (int d = 0; p && d < k.ndim; ++d) p += i[d] * o.strides[d];
        return p ? p + shift : p;
      };
      std::map<char*, Partial> results;  // by address, which elements that are reduced into one have in common
      const bool logic = k.opcode == FC_REDUCE_any || k.opcode == FC_REDUCE_all;
      const bool largest = k.opcode == FC_REDUCE_max || k.opcode == FC_REDUCE_argmax;
      int64_t flat = 0;
      fb::for_each(k.ndim, k.shape, [&](const int64_t* i) {
        const T element = in.at(i, k.ndim);
        const Wide v = logic ? Wide(element != T(0)) : Wide(element);
        Partial p{v, k.dim >= 0 ? i[k.dim] : flat++, address(k.out, i), address(k.indices, i)};
        auto [found, first] = results.try_emplace(p.out ? p.out : p.indices, p);
        if (first) return;
        Wide& so_far = found->second.value;
        switch (k.opcode) {
          case FC_REDUCE_sum: so_far = Wide(so_far + v); break;
          case FC_REDUCE_prod: so_far = Wide(so_far * v); break;
          case FC_REDUCE_any: so_far = Wide(so_far != Wide(0) || v != Wide(0)); break;
          case FC_REDUCE_all: so_far = Wide(so_far != Wide(0) && v != Wide(0)); break;
          default:  // the first NaN wins, then the first of equal elements
            if (so_far == so_far && (v != v || (largest ? v > so_far : v < so_far))) found->second = p;
        }
      });
      for (auto& [at, p] : results) {
        if (p.out) fb::store(p.out, k.out.dtype, p.value);
        if (p.indices) fb::store(p.indices, FC_INT64, p.index);
      }
    });
  }

  void matmul(fc_context& c, const fc_matmul& k) override {
    const ptrdiff_t shift = memory_[c.device].shift();
    auto at = [&](void* p, int64_t offset) { return static_cast<char*>(p) + shift + offset; };
    for (int64_t g = 0; g < k.batch; ++g)
      for (int64_t i = 0; i < k.m; ++i)
        for (int64_t j = 0; j < k.n; ++j) {
          double sum = 0;
          for (int64_t l = 0; l < k.k; ++l)
            sum += fb::load<double>(at(k.a, g * k.a_batch + i * k.a_row + l * k.a_col), k.dtype) *
                   fb::load<double>(at(k.b, g * k.b_batch + l * k.b_row + j * k.b_col), k.dtype);
          char* out = at(k.c, g * k.c_batch + i * k.c_row + j * k.c_col);
          fb::store(out, k.dtype, k.alpha * sum + (k.beta == 0 ? 0 : k.beta * fb::load<double>(out, k.dtype)));
        }
  }

  void random(fc_context& c, const fc_random& k) override { fb::draw_all(k, memory_[c.device].shift()); }

 private:
  Memory memory_[kDevices];
};

}  // namespace

FACULA_BACKEND(Example, "example")
