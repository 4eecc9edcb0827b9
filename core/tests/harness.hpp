// A test is a function that registers itself; main() runs them all.
#pragma once

#include <cmath>
#include <sstream>
#include <string>
#include <vector>

namespace harness {

struct Test {
  const char* name;
  void (*body)();
};

inline std::vector<Test>& tests() {
  static std::vector<Test> all;
  return all;
}

struct Registration {
  Registration(const char* name, void (*body)()) { tests().push_back({name, body}); }
};

// Counts a failed check of the running test, and prints it.
void fail(const char* file, int line, const std::string& message);

// What the checks below it are about, printed with a failure.
class Context {
 public:
  explicit Context(std::string text) { stack().push_back(std::move(text)); }
  ~Context() { stack().pop_back(); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  static std::vector<std::string>& stack() {
    static std::vector<std::string> texts;
    return texts;
  }
};

template <class A, class B>
void check_equal(const char* file, int line, const char* text, const A& a, const B& b) {
  if (a == b) return;
  std::ostringstream out;
  out.precision(17);
  out << text << ": " << a << " is not " << b;
  fail(file, line, out.str());
}

inline void check_close(const char* file, int line, const char* text, double a, double b,
                        double tolerance) {
  if (std::abs(a - b) <= tolerance) return;  // false for a NaN
  std::ostringstream out;
  out.precision(17);
  out << text << ": " << a << " is not within " << tolerance << " of " << b;
  fail(file, line, out.str());
}

}  // namespace harness

#define TEST(name)                                                        \
  static void name();                                                     \
  static const harness::Registration registration_of_##name{#name, name}; \
  static void name()

#define CHECK(condition) ((condition) ? void() : harness::fail(__FILE__, __LINE__, #condition))
#define CHECK_EQUAL(a, b) harness::check_equal(__FILE__, __LINE__, #a " == " #b, a, b)
#define CHECK_CLOSE(a, b, tolerance) \
  harness::check_close(__FILE__, __LINE__, #a " ~ " #b, a, b, tolerance)

// CONTEXT("n = " << n): until the end of the scope. At most one per scope.
#define CONTEXT(text) \
  const harness::Context context_of_this_scope((std::ostringstream() << text).str())
