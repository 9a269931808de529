// A watch that begins thousands of revisions behind, at a real etcd and at the model.
#include <algorithm>
#include <string>
#include <vector>

#include "sim/model_check/check.h"
#include "sim/model_check/runner.h"

namespace baton::sim {
namespace {

constexpr int kBehind = 2500;
constexpr int kEveryForeign = 10;  // of so many puts one is outside the watch
constexpr std::int64_t kFrom = 3;  // the first put

pb::TxnRequest PutOf(const std::string& key) {
  pb::TxnRequest request;
  request.add_success()->mutable_request_put()->set_key(key);
  return request;
}

// Plan: puts, some of another group; then a watch from the first one. The last put is of another
// group: the watch's last event stays below the store's revision.
std::vector<std::string> Run(Party& party) {
  Runner runner(party);
  std::size_t events = 0;
  for (int i = 1; i <= kBehind; ++i) {
    const bool foreign = i % kEveryForeign == 0;
    runner.Do(PutOf(foreign ? "elsewhere" : "here"));
    events += foreign ? 0 : 1;
  }
  OpenWatch watch;
  watch.request.set_key("here");
  watch.request.set_start_revision(kFrom);
  runner.Do(watch);
  const bool all = runner.AwaitTold(0, 1 + events);
  std::vector<std::string> messages = runner.Messages(0);
  if (!all) messages.emplace_back("and not all");
  return messages;
}

}  // namespace

CheckResult CheckCatchUp(Party& real, std::uint64_t seed) {
  CheckResult result;
  const std::vector<std::string> truth = Run(real);
  result.told = truth.size();
  for (const bool documented : {true, false}) {
    ModelParty model(ModelOf(real.version(), documented), seed);
    const std::vector<std::string> told = Run(model);
    for (std::size_t i = 0; i < std::max(truth.size(), told.size()); ++i) {
      const std::string real_told = i < truth.size() ? truth[i] : "nothing more";
      const std::string model_told = i < told.size() ? told[i] : "nothing more";
      if (result.difference || real_told == model_told) continue;
      result.difference = "catching up, message " + std::to_string(i) + "\n  etcd: " + real_told +
                          "\n  " + model.name() + ": " + model_told + "\n";
    }
  }
  return result;
}

}  // namespace baton::sim
