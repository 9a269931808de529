// How many open streams each caller may have.
#include "access/stream_places.h"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace baton::access {
namespace {

Caller Named(const std::string& name) { return {.peer = "ipv4:10.0.0.1:5", .certificate = name}; }

// Plan: one caller takes its share, others what is left of all; operators need no place. Each place
// that is given back is free again, also after the object has gone.
TEST(StreamPlaces, ACallerWithAllOfItsShareLeavesRoomForOthersAndOperators) {
  std::optional<StreamPlaces> places(StreamPlaces::Bounds{.of_caller = 2, .of_readers = 3});
  std::vector<StreamPlaces::Place> held;
  const auto take = [&](const std::string& name, Role role = Role::kRead) {
    auto place = places->Take(Named(name), role);
    if (place) held.push_back(*std::move(place));
    return place.has_value();
  };
  EXPECT_TRUE(take("eve"));
  EXPECT_TRUE(take("eve"));
  EXPECT_FALSE(take("eve", Role::kLead));
  EXPECT_TRUE(take("bob"));
  EXPECT_FALSE(take("ann")) << "all who may not operate have their part";
  EXPECT_EQ(places->counts().open, 3U);
  EXPECT_EQ(places->counts().refused, 2U);
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(take("eve", Role::kOperate));
    EXPECT_TRUE(take("root", Role::kAdmin));
  }
  held.erase(held.begin());
  EXPECT_FALSE(take("bob") && take("bob"));
  held.clear();
  EXPECT_EQ(places->counts().open, 0U);
  EXPECT_TRUE(take("eve"));
  EXPECT_TRUE(take("eve"));
  EXPECT_FALSE(take("eve"));
  places.reset();
  held.clear();
}

}  // namespace
}  // namespace baton::access
