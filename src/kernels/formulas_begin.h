// SPDX-License-Identifier: Apache-2.0
// Before a .def of facula/formulas: every row becomes a struct (kernels/formula.h, kernels/fold.h). No guard.
#define FC_FORMULA_FACTS(number, inputs, parameters, types)                \
  static constexpr int code = number, arity = inputs, params = parameters; \
  static constexpr unsigned accepts = types;
#define FC_UNARY(number, name, parameters, types, ...)              \
  struct name {                                                     \
    FC_FORMULA_FACTS(number, 1, parameters, types)                  \
    template <class V, class T = math::Element<V>>                  \
    FC_INLINE static auto apply(V x, [[maybe_unused]] const T* p) { \
      __VA_ARGS__                                                   \
    }                                                               \
  };
#define FC_MATH FC_UNARY
#define FC_BINARY(number, name, parameters, types, ...)                  \
  struct name {                                                          \
    FC_FORMULA_FACTS(number, 2, parameters, types)                       \
    template <class V, class T = math::Element<V>>                       \
    FC_INLINE static auto apply(V a, V b, [[maybe_unused]] const T* p) { \
      __VA_ARGS__                                                        \
    }                                                                    \
  };
#define FC_COMPARE FC_BINARY
#define FC_DERIVATIVE FC_BINARY
#define FC_TERNARY(number, name, parameters, types, ...)                      \
  struct name {                                                               \
    FC_FORMULA_FACTS(number, 3, parameters, types)                            \
    template <class V, class T = math::Element<V>>                            \
    FC_INLINE static auto apply(V a, V b, V c, [[maybe_unused]] const T* p) { \
      __VA_ARGS__                                                             \
    }                                                                         \
  };
#define FC_TERMS(number, name, types, Kind, ...)             \
  struct name : Kind {                                       \
    static constexpr int code = number;                      \
    static constexpr unsigned accepts = types;               \
    template <class V>                                       \
    FC_INLINE static V term(V x, [[maybe_unused]] V shift) { \
      __VA_ARGS__                                            \
    }                                                        \
  };
#define FC_SUM(number, name, types, ...) FC_TERMS(number, name, types, Sum, __VA_ARGS__)
#define FC_MEAN(number, name, types, ...) FC_TERMS(number, name, types, Mean, __VA_ARGS__)
#define FC_FOLD(number, name, types, value_of_none, ...)          \
  struct name : Plain {                                           \
    static constexpr int code = number, identity = value_of_none; \
    static constexpr unsigned accepts = types;                    \
    template <class V>                                            \
    FC_INLINE static V join(V a, V b) {                           \
      __VA_ARGS__                                                 \
    }                                                             \
  };
#define FC_EXTREME(number, name, types, ...)   \
  struct name : Extreme<name> {                \
    static constexpr int code = number;        \
    static constexpr unsigned accepts = types; \
    template <class V>                         \
    FC_INLINE static auto replaces(V a, V b) { \
      __VA_ARGS__                              \
    }                                          \
  };
#define FC_OPCODE(...)
