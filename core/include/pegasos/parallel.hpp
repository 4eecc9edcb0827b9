// Threads that live for one call: nothing outlives it, so a fork afterwards is harmless.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace pegasos {

// The first exception that some threads met; they must not leave their thread.
class FirstFailure {
 public:
  template <class Call>
  void guard(const Call& call) noexcept {
    try {
      call();
    } catch (...) {
      if (!met_.exchange(true)) failure_ = std::current_exception();
    }
  }
  // When all are done.
  void rethrow() {
    if (!met_.exchange(false)) return;
    std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  std::atomic<bool> met_ = false;
  std::exception_ptr failure_;
};

// Calls body(0) .. body(parts - 1), each on a thread of its own, the last on the caller's; where
// the system gives no more threads, the caller does the work. What a body throws, this throws.
template <class Body>
void in_parallel(std::int64_t parts, const Body& body) {
  FirstFailure failure;
  {
    std::vector<std::jthread> threads;
    threads.reserve(static_cast<std::size_t>(parts));
    std::int64_t part = 0;
    try {
      for (; part + 1 < parts; ++part) {
        threads.emplace_back([&body, &failure, part] { failure.guard([&] { body(part); }); });
      }
    } catch (const std::system_error&) {
    } catch (const std::bad_alloc&) {
    }
    for (; part < parts; ++part) failure.guard([&] { body(part); });
  }
  failure.rethrow();
}

// Threads that meet often: they wait in a loop for a while before they sleep.
class Team {
 public:
  explicit Team(std::int64_t parts) : parts_(parts) {
    threads_.reserve(static_cast<std::size_t>(parts));
    try {
      for (std::int64_t part = 1; part < parts; ++part) {
        threads_.emplace_back([this, part] { work(part); });
      }
    } catch (const std::system_error&) {
    } catch (const std::bad_alloc&) {
    }
  }
  ~Team() {
    body_ = nullptr;
    turn_.fetch_add(1);
    turn_.notify_all();
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // As in_parallel. The caller has part 0, and the parts no thread could be had for.
  template <class Body>
  void run(const Body& body) {
    const std::function<void(std::int64_t)> call = std::cref(body);
    body_ = &call;
    const auto helpers = static_cast<std::int64_t>(threads_.size());
    busy_.store(helpers);
    turn_.fetch_add(1);
    turn_.notify_all();
    failure_.guard([&] { call(0); });
    for (std::int64_t part = helpers + 1; part < parts_; ++part) {
      failure_.guard([&] { call(part); });
    }
    for (std::int64_t left = busy_.load(); left != 0; left = busy_.load()) wait(busy_, left);
    failure_.rethrow();
  }

 private:
  static void wait(const std::atomic<std::int64_t>& value, std::int64_t old) {
    for (int spin = 0; spin < 4000; ++spin) {
      if (value.load(std::memory_order_acquire) != old) return;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
    value.wait(old);
  }
  void work(std::int64_t part) {
    for (std::int64_t turn = 0;;) {
      wait(turn_, turn);
      if (turn_.load() == turn) continue;
      ++turn;
      if (body_ == nullptr) return;
      failure_.guard([&] { (*body_)(part); });
      if (busy_.fetch_sub(1) == 1) busy_.notify_all();
    }
  }

  std::int64_t parts_;
  FirstFailure failure_;
  const std::function<void(std::int64_t)>* body_ = nullptr;
  std::atomic<std::int64_t> turn_ = 0;
  std::atomic<std::int64_t> busy_ = 0;
  std::vector<std::jthread> threads_;
};

// Where part `part` of `parts` equal shares of `size` begins.
constexpr std::int64_t share_begin(std::int64_t size, std::int64_t parts, std::int64_t part) {
  return size / parts * part + size % parts * part / parts;
}

}  // namespace pegasos
