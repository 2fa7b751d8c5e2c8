// SPDX-License-Identifier: Apache-2.0
// A value that comes later, from another thread, or the exception that comes in its place. Completed once, by any
// thread; callbacks run on that thread, or at once if they come later, and never under a lock. Counted: who waits and
// who completes each hold a reference.
#pragma once
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include "core/ref.h"
#include "core/value.h"

namespace fc {

class Future final : public RefCounted {
 public:
  struct Callback {
    virtual ~Callback() = default;
    virtual void done(Future& future) = 0;
  };

  bool done() const { return __atomic_load_n(&done_, __ATOMIC_ACQUIRE); }
  void set(Value v);                    // throws Error if it is done
  void fail(std::exception_ptr error);  // the same
  const Value& value() const;           // of one that is done; throws its exception
  std::exception_ptr error() const;     // of one that is done; null: it has a value
  // Waits at most so many milliseconds; whether it is done. The caller holds nothing that completing it may need.
  bool wait_for(int milliseconds);
  void wait();
  void when_done(std::unique_ptr<Callback> callback);

 private:
  void destroy() noexcept override { delete_in_turn(this); }
  void complete(Value v, std::exception_ptr error);
  mutable std::mutex mutex_;
  std::condition_variable change_;
  std::vector<std::unique_ptr<Callback>> callbacks_;
  Value value_;
  std::exception_ptr error_;
  bool done_ = false;
};

inline Value future_value(Ref<Future> f) { return Value(Tag::Future, std::move(f)); }
inline Future& future_of(const Value& v) { return *static_cast<Future*>(v.box()); }

}  // namespace fc
