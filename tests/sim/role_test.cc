// The rights of a role for one prefix, nested transactions included.
#include <gtest/gtest.h>

#include <string>

#include "sim/role.h"

namespace baton::sim {
namespace {

const Role kRole("/g/", "/g0");

// Plan: keys and ranges inside, at the edges, beyond them, and without an end.
TEST(Role, AllowsItsOwnRangeAlone) {
  EXPECT_TRUE(kRole.Allows("/g/a", ""));
  EXPECT_TRUE(kRole.Allows("/g/", "/g0"));
  EXPECT_FALSE(kRole.Allows("/g0", ""));
  EXPECT_FALSE(kRole.Allows("/g", ""));
  EXPECT_FALSE(kRole.Allows("/g/a", "/g1"));
  EXPECT_FALSE(kRole.Allows("/g/a", std::string(1, '\0')));
}

// Plan: a key of another group, in each place of a transaction that can hold one, two levels deep:
// one is enough.
TEST(Role, LooksIntoNestedTransactions) {
  pb::TxnRequest request;
  request.add_compare()->set_key("/g/a");
  pb::TxnRequest* const outer = request.add_failure()->mutable_request_txn();
  pb::TxnRequest* const inner = outer->add_success()->mutable_request_txn();
  inner->add_success()->mutable_request_put()->set_key("/g/a");
  inner->add_failure()->mutable_request_delete_range()->set_key("/g/b");
  inner->add_failure()->mutable_request_range()->set_key("/g/c");
  ASSERT_TRUE(kRole.Allows(request));
  for (std::string* const key :
       {request.mutable_compare(0)->mutable_key(),
        inner->mutable_success(0)->mutable_request_put()->mutable_key(),
        inner->mutable_failure(0)->mutable_request_delete_range()->mutable_key(),
        inner->mutable_failure(1)->mutable_request_range()->mutable_key()}) {
    const std::string kept = *key;
    *key = "/h/a";
    EXPECT_FALSE(kRole.Allows(request)) << "instead of " << kept;
    *key = kept;
  }
}

}  // namespace
}  // namespace baton::sim
