// baton_model_check: runs scripts from seeds against the model of etcd and a real etcd.
//
//   baton_model_check [--seed S] [--operations N] [--verbose]
//
// A script has 100 operations; for more operations it also takes the seeds that follow. Exit codes:
// 0 no difference, 1 a difference, or no etcd, 2 usage.
#include <cstdio>
#include <optional>
#include <string>

#include "sim/arguments.h"
#include "sim/model_check/check.h"

namespace {

constexpr std::uint64_t kMaxOperations = 100'000'000;

struct Chosen {
  bool verbose = false;
  std::optional<std::uint64_t> seed;
  std::optional<std::uint64_t> operations;
};

std::optional<Chosen> Parse(int count, char** words) {
  Chosen chosen;
  const baton::sim::Arguments arguments{
      .flags = {{"--verbose", &chosen.verbose}},
      .numbers = {{"--seed", &chosen.seed}, {"--operations", &chosen.operations}}};
  if (!Read(arguments, count, words)) return std::nullopt;
  const std::uint64_t operations = chosen.operations.value_or(1000);
  if (operations == 0 || operations > kMaxOperations) return std::nullopt;
  return chosen;
}

}  // namespace

int main(int count, char** words) {
  const auto chosen = Parse(count, words);
  if (!chosen) {
    std::fputs("usage: baton_model_check [--seed S] [--operations N] [--verbose]\n", stderr);
    return 2;
  }
  std::string why;
  const auto etcd = baton::sim::StartScriptsEtcd(why);
  if (etcd == nullptr) {
    std::fprintf(stderr, "baton_model_check: %s\n", why.c_str());
    return 1;
  }
  const auto result = baton::sim::CheckScripts(*etcd, chosen->seed.value_or(1),
                                               static_cast<int>(chosen->operations.value_or(1000)),
                                               chosen->verbose);
  std::fputs(result.Text().c_str(), stdout);
  return result.difference ? 1 : 0;
}
