// The faults of etcd's versions.
#include "etcd/advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace baton::etcd {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Plan: versions with faults, and the first ones without; texts that are no version, or whose
// numbers are too large.
TEST(Advice, TellsTheVersionsThatHaveFaults) {
  for (const char* faulty :
       {"3.4.23", "3.3.1", "3.5.32", "3.6.13", "3.7.0", "3.0.9", "3.5.0-rc.1"}) {
    EXPECT_THAT(FaultsOf(faulty), Not(IsEmpty())) << faulty;
  }
  for (const char* good : {"3.5.33", "3.6.14", "3.7.1", "3.8.0", "4.0.0", "unknown", "", "3", "3.4",
                           "3.4.", "3.-4.1", " 3.4.23", "3.4.99999999999", "99999999999.0.0"}) {
    EXPECT_THAT(FaultsOf(good), IsEmpty()) << good;
  }
}

// Plan: what was measured of these versions (docs/etcd-versions.md), and what a later one has
// fixed.
TEST(Advice, TellsOnlyTheFaultsOfAVersion) {
  EXPECT_THAT(FaultsOf("3.4.23"), Contains(HasSubstr("renews leases that are gone")));
  EXPECT_THAT(FaultsOf("3.4.23"), Contains(HasSubstr("ends leases that others renew")));
  EXPECT_THAT(FaultsOf("3.4.44"), Not(Contains(HasSubstr("renews leases that are gone"))));
  EXPECT_THAT(FaultsOf("3.5.16"), Not(Contains(HasSubstr("ends leases that others renew"))));
  EXPECT_THAT(FaultsOf("3.5.2"), Contains("loses data in a crash"));
  EXPECT_THAT(FaultsOf("3.5.30"), testing::ElementsAre(HasSubstr("CVE-2026-73499")));
}

}  // namespace
}  // namespace baton::etcd
