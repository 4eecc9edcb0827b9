// Threads: what a body throws comes to the caller, whichever thread met it, and the next call
// works.
#include <atomic>
#include <stdexcept>

#include "harness.hpp"
#include "pegasos/parallel.hpp"

namespace {

using pegasos::in_parallel;
using pegasos::Team;

TEST(what_a_thread_throws_comes_to_the_caller) {
  for (std::int64_t bad = 0; bad < 4; ++bad) {
    std::atomic<int> done = 0;
    const auto body = [&](std::int64_t part) {
      if (part == bad) throw std::bad_alloc();
      ++done;
    };
    bool thrown = false;
    try {
      in_parallel(4, body);
    } catch (const std::bad_alloc&) {
      thrown = true;
    }
    CHECK(thrown);
    CHECK(done == 3);
  }
}

TEST(a_team_works_on_after_a_failure) {
  Team team(3);
  for (std::int64_t bad = 0; bad < 3; ++bad) {
    bool thrown = false;
    try {
      team.run([&](std::int64_t part) {
        if (part == bad) throw std::runtime_error("here");
      });
    } catch (const std::runtime_error&) {
      thrown = true;
    }
    CHECK(thrown);
    std::atomic<int> done = 0;
    team.run([&](std::int64_t) { ++done; });
    CHECK(done == 3);
  }
}

}  // namespace
