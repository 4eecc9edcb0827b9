// Threads that live for one call: nothing outlives it, so a fork afterwards is harmless.
#pragma once

#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

namespace pegasos {

// Calls body(0) .. body(parts - 1), each on a thread of its own, the last on the caller's; where
// the system gives no more threads, the caller does the work. `body` must not throw.
template <class Body>
void in_parallel(std::int64_t parts, const Body& body) {
  std::vector<std::jthread> threads;
  threads.reserve(static_cast<std::size_t>(parts));
  std::int64_t part = 0;
  try {
    for (; part + 1 < parts; ++part) threads.emplace_back([&body, part] { body(part); });
  } catch (const std::system_error&) {
  }
  for (; part < parts; ++part) body(part);
}

// Where part `part` of `parts` equal shares of `size` begins.
constexpr std::int64_t share_begin(std::int64_t size, std::int64_t parts, std::int64_t part) {
  return size / parts * part + size % parts * part / parts;
}

}  // namespace pegasos
