// YAML that batonctl writes is read by others as what was meant.
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <string>

#include "app/ctl/table.h"

namespace baton::app {
namespace {

// Words that YAML 1.1 or 1.2 takes for a boolean, null or a number stand in quotes, as keys, too.
TEST(YamlOutput, KeepsTextsTexts) {
  EXPECT_EQ(YamlFromJson(R"({"No":"True","1":"NULL","on":"12","n1":"Zone-b","y":null})"),
            "\"No\": \"True\"\n\"1\": \"NULL\"\n\"on\": \"12\"\nn1: Zone-b\n\"y\": ~\n");
}

TEST(YamlOutput, WritesNumbersAsShortAsJson) {
  EXPECT_EQ(
      YamlFromJson(R"({"a":0.1,"b":2.5e-7,"b2":7e-6,"c":-3,"d":18446744073709551615,"e":[]})"),
      "a: 0.1\nb: 2.5e-07\nb2: 7.0e-06\nc: -3\nd: 18446744073709551615\ne: []\n");
}

}  // namespace
}  // namespace baton::app
