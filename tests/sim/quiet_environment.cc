// Part of each test that runs simulations: what the product logs is not shown.
#include <gtest/gtest.h>

#include "sim/quiet_log.h"

namespace baton::sim {
namespace {

class Quiet : public ::testing::Environment {
 public:
  void SetUp() override { QuietLog(false); }
};
const ::testing::Environment* const kQuiet =
    ::testing::AddGlobalTestEnvironment(new Quiet);  // gtest owns it

}  // namespace
}  // namespace baton::sim
