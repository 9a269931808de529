// batond's --label, which is also the example of a list: the ways to give it, and the error line of
// each label that can't be used.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "app/daemon/daemon_options.h"
#include "base/placement.h"
#include "base/text_rules.h"

namespace baton::app {
namespace {

using Texts = std::vector<std::string>;

std::variant<DaemonOptions, EarlyExit> ParseOrders(const Texts& more,
                                                   const std::string& label_in_environment = "") {
  Texts arguments = {"--group=orders", "--shards=12"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  Surroundings surroundings;
  surroundings.host_name = "host-1";
  surroundings.environment = [&](const std::string& name) -> std::optional<std::string> {
    if (name == "BATON_LABEL") return label_in_environment;
    if (name == "HOME") return "/srv/baton";
    return std::nullopt;
  };
  return ParseDaemonOptions(std::move(arguments), surroundings);
}

NodeOptions NodeOf(const Texts& more, const std::string& label_in_environment = "") {
  const auto parsed = ParseOrders(more, label_in_environment);
  if (const auto* exit = std::get_if<EarlyExit>(&parsed)) {
    ADD_FAILURE() << exit->text;
    return {};
  }
  return std::get<DaemonOptions>(parsed).node;
}

std::string ErrorOf(const Texts& more) {
  const auto parsed = ParseOrders(more);
  const auto* exit = std::get_if<EarlyExit>(&parsed);
  if (exit == nullptr) return "accepted";
  EXPECT_EQ(exit->code, 2);
  return exit->text;
}

// Plan: two labels from each source, in each of the ways in which a list can be given; one source
// counts alone; and a list of another flag.
TEST(LabelSettings, AListIsOneTextOrSeveralFlags) {
  const Labels both{{"disk", "ssd"}, {"example.org/rack", "r7"}};
  const std::string disk = "disk=ssd", rack = "example.org/rack=r7";
  EXPECT_EQ(NodeOf({}).labels, Labels{});
  EXPECT_EQ(NodeOf({"--label", disk, "--label=" + rack}).labels, both);
  EXPECT_EQ(NodeOf({"--label", rack + "," + disk}).labels, both);
  EXPECT_EQ(NodeOf({}, disk + "," + rack).labels, both);
  EXPECT_EQ(NodeOf({"--label=disk=hdd"}, disk + "," + rack).labels, (Labels{{"disk", "hdd"}}));
  const std::string path =
      testing::TempDir() + "label_settings_" + std::to_string(getpid()) + ".yaml";
  std::ofstream(path) << "label: [" << disk << ", " << rack << "]\n";
  EXPECT_EQ(NodeOf({"--config", path}).labels, both);
  std::remove(path.c_str());
  EXPECT_EQ(NodeOf({"--etcd=a:1", "--etcd", "b:2,c:3"}).etcd.endpoints,
            (Texts{"a:1", "b:2", "c:3"}));
}

TEST(LabelSettings, EachBadOneHasItsLine) {
  std::string many;
  for (int i = 0; i < 33; ++i) many += (i == 0 ? "l" : ",l") + std::to_string(i) + "=v";
  const auto bad_name = [](const std::string& name) {
    return "can't be used: '" + name + "' is not a valid label name; give " + kLabelNameRule;
  };
  const std::pair<Texts, std::string> table[] = {
      {{"--label=x"}, "\"x\" is no label; expected NAME=VALUE, such as disk=ssd"},
      {{"--label=disk=ssd,"}, "accepted"},
      {{"--label=,disk=ssd"}, "\"\" is no label; expected NAME=VALUE, such as disk=ssd"},
      {{"--label=disk=ssd,disk=hdd"}, "\"disk=hdd\" is the second value of this label; give one"},
      {{"--label=disk=ssd", "--label=disk=ssd"},
       "\"disk=ssd\" is the second value of this label; give one"},
      {{"--label=zone=a"}, "\"zone=a\" is the node's zone already; use --zone"},
      {{"--label=node=n1"}, "\"node=n1\" is the node's id already; use --node"},
      {{"--label=Disk=ssd"}, "\"Disk=ssd\" " + bad_name("Disk")},
      {{"--label==ssd"}, "\"=ssd\" " + bad_name("")},
      {{"--label=disk="},
       std::string("\"disk=\" can't be used: the value of label 'disk' is not valid; give ") +
           kNameRule},
      {{"--label=disk=a=b"},
       std::string("\"disk=a=b\" can't be used: the value of label 'disk' is not valid; give ") +
           kNameRule},
      {{"--label", ""}, "it is empty; give a value or leave it out"},
      {{"--label", many}, "33 labels; give at most 32"}};
  for (const auto& [arguments, line] : table) {
    const bool accepted = line == "accepted";
    EXPECT_EQ(ErrorOf(arguments), accepted ? line : "batond: --label: " + line + "\n");
  }
}

}  // namespace
}  // namespace baton::app
