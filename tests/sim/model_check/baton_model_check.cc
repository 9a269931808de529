// baton_model_check: scripts from seeds, at the model of etcd and at a real one.
//
//   baton_model_check [--seed S] [--operations N] [--verbose]
//
// A script has 100 operations; more take the seeds that follow. Exit codes: 0 no difference,
// 1 a difference, or no etcd, 2 usage.
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "sim/model_check/check.h"

namespace {

struct Arguments {
  std::uint64_t seed = 1;
  int operations = 1000;
  bool verbose = false;
};

std::optional<Arguments> Parse(int count, char** words) {
  Arguments arguments;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--verbose") {
      arguments.verbose = true;
      continue;
    }
    if (i + 1 == count) return std::nullopt;
    char* end = nullptr;
    const std::uint64_t number = std::strtoull(words[++i], &end, 10);
    if (*end != '\0' || end == words[i]) return std::nullopt;
    if (word == "--seed") {
      arguments.seed = number;
    } else if (word == "--operations" && number > 0 && number <= 100'000'000) {
      arguments.operations = static_cast<int>(number);
    } else {
      return std::nullopt;
    }
  }
  return arguments;
}

}  // namespace

int main(int count, char** words) {
  const auto arguments = Parse(count, words);
  if (!arguments) {
    std::fputs("usage: baton_model_check [--seed S] [--operations N] [--verbose]\n", stderr);
    return 2;
  }
  std::string why;
  const auto etcd = baton::sim::StartScriptsEtcd(why);
  if (etcd == nullptr) {
    std::fprintf(stderr, "baton_model_check: %s\n", why.c_str());
    return 1;
  }
  const auto result =
      baton::sim::CheckScripts(*etcd, arguments->seed, arguments->operations, arguments->verbose);
  std::fputs(result.Text().c_str(), stdout);
  return result.difference ? 1 : 0;
}
