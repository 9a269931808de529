// command_line: the arguments of batond or batonctl, one in each line. Nothing is run.
//
// Must hold: for batond, the same as for its file (fuzz_config.cc). For batonctl, CLI11 refuses the
// arguments with an error of its own, or they name a verb to run.
#include <CLI/CLI.hpp>

#include <algorithm>

#include "app/ctl/commands.h"
#include "fuzz/daemon_words.h"
#include "fuzz/targets.h"

namespace baton::fuzz {
namespace {

constexpr std::size_t kMaxWords = 64;

// An argument has no NUL.
std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty() && words.size() < kMaxWords) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string word(text.substr(0, end));
    std::erase(word, '\0');
    words.push_back(std::move(word));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

void RunBatonctl(std::vector<std::string> words) {
  CLI::App app("Operates a group.", "batonctl");
  app::Commands commands;
  app::AddCommands(app, commands);
  std::reverse(words.begin(), words.end());  // CLI11 expects this order
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    Must(error.get_exit_code() == 0 || std::string(error.what()) != "", "a refusal has words");
    return;
  }
  Must(commands.run != nullptr, "a line that was taken names a verb");
}

}  // namespace

void RunCommandLine(std::string_view bytes) {
  if (NamesDevices(bytes)) return;
  Input input(bytes);
  const bool batond = input.Choice(2) == 0;
  std::vector<std::string> words = Words(input.Rest());
  if (batond) {
    ParseAndJudge(std::move(words));
  } else {
    RunBatonctl(std::move(words));
  }
}

std::vector<Seed> CommandLineSeeds() {
  const std::string batond(1, '\0');
  const std::string batonctl(1, '\1');
  return {
      {"batond", batond + "--group\norders\n--shards=12\n--ttl\n5s\n--relay=false\n"},
      {"batond-run", batond + "run\n--group=orders\n--shards=3\n--\nsh\n-c\ntrue\n"},
      {"batond-help", batond + "--help\n"},
      {"batond-wrong", batond + "--group=a b\n--shards=0\n--etcd=x,,y:1\n--listen=0.0.0.0:1\n"},
      {"batonctl-transfer", batonctl + "shards\ntransfer\n3\n--to\nn2\n--if-term=7\n--dry-run\n"},
      {"batonctl-events", batonctl + "events\n-f\n--after\n9\n--shard\n1\n-ojson\n"},
      {"batonctl-global", batonctl + "--endpoint\n[::1]:7400\n--timeout\n5s\nstatus\n"},
      {"batonctl-settings",
       batonctl + "group\nset\nfailover=after\nfailover-delay=30s\n--dry-run\n"},
      {"batonctl-limits",
       batonctl + "group\nset\nmax-moves=8\nrebalance-delay=30s\ncooldown=default\n"},
      {"batonctl-release", batonctl + "shards\nrelease\n3\n--force\n--confirm\norders/3\n"},
      {"batonctl-placement", batonctl + "placement\ncheck\nrules.yaml\n-ojson\n"},
      {"batonctl-simulate",
       batonctl + "rebalance\nsimulate\n--without\nzone=a\n--without=node=n3\n-owide\n"},
      {"batonctl-wrong", batonctl + "nodes\ndrain\n--frob\n"}};
}

}  // namespace baton::fuzz
