#include <cstdio>
#include <exception>

#include "harness.hpp"

namespace {

constexpr int kPrintedPerTest = 5;
int failed_checks = 0;  // of the running test

}  // namespace

void harness::fail(const char* file, int line, const std::string& message) {
  if (++failed_checks > kPrintedPerTest) return;
  std::printf("%s:%d: %s", file, line, message.c_str());
  for (const std::string& text : Context::stack()) std::printf(" [%s]", text.c_str());
  std::printf("\n");
}

int main() {
  int passed = 0;
  int failed = 0;
  for (const harness::Test& test : harness::tests()) {
    failed_checks = 0;
    try {
      test.body();
    } catch (const std::exception& error) {
      harness::fail(test.name, 0, std::string("threw ") + error.what());
    }
    if (failed_checks == 0) {
      ++passed;
      continue;
    }
    ++failed;
    std::printf("FAILED %s: %d checks\n", test.name, failed_checks);
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
