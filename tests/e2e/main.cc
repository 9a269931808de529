// gtest's main, which also reads the world of the tests: `e2e_drain_test --world=tls`.
#include <gmock/gmock.h>

#include <iostream>

#include "e2e/world.h"

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);  // removes its own arguments
  const baton::Status read = baton::e2e::ReadWorld({argv + 1, argv + argc});
  if (!read.ok()) {
    std::cerr << read.error().message << "\n";
    return 2;
  }
  const int result = RUN_ALL_TESTS();
  if (testing::UnitTest::GetInstance()->test_to_run_count() > 0) return result;
  std::cerr << "no test matches the filter\n";
  return 2;
}
