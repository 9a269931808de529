#include "baton/result.h"

#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "gtest/gtest.h"

namespace baton {
namespace {

const Error kAway{ErrorCode::kUnavailable, "etcd is away"};

// Reads a value by each way that there is, of a Result that may be changed and of one that may not.
TEST(Result, GivesItsValueByNameAndByPointerSyntax) {
  Result<std::string> result = std::string("n1");
  *result += "-eu";
  result->append("-west");
  const Result<std::string>& same = result;
  EXPECT_TRUE(same);
  EXPECT_EQ(same.value(), "n1-eu-west");
  EXPECT_EQ(*same, same.value());
  EXPECT_EQ(same->size(), same.value().size());
}

// Node::Start and Router::Start return such a Result: (*result)->Method() reaches the object
// itself.
TEST(Result, OfAPointerReachesTheObjectBehindIt) {
  const Result<std::unique_ptr<std::string>> result = std::make_unique<std::string>("n1");
  EXPECT_EQ((*result)->size(), 2u);
}

// Takes the value out, without a copy: a unique_ptr has none.
TEST(Result, OfATemporaryLetsItsValueBeMovedOut) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(7);
  const std::unique_ptr<int> taken = *std::move(result);
  EXPECT_EQ(*taken, 7);
}

// Asks for the one that is not there, by each way: each throws, and the other one can still be
// read.
TEST(Result, ThrowsIfItsValueOrErrorIsNotThere) {
  Result<std::string> failed = kAway;
  EXPECT_FALSE(failed);
  EXPECT_THROW((void)failed.value(), std::bad_variant_access);
  EXPECT_THROW((void)*failed, std::bad_variant_access);
  EXPECT_THROW((void)failed->size(), std::bad_variant_access);
  EXPECT_EQ(failed.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(failed.error().message, "etcd is away");
  EXPECT_THROW((void)Ok().error(), std::bad_variant_access);
}

}  // namespace
}  // namespace baton
