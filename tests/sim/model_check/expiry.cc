// Leases that end by themselves, at a real etcd and at the model.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sim/model_check/check.h"
#include "sim/model_check/runner.h"

namespace baton::sim {
namespace {

constexpr std::int64_t kAsked = 1;
constexpr std::int64_t kGranted = 2;  // etcd's default floor
constexpr std::int64_t kLives = 1;
constexpr std::int64_t kEnds = 2;
// The model's longest delay: it looks every 500 ms, and then has to commit.
constexpr Duration kModelsLatest = milliseconds(510);

/// The answers of one etcd, and when the key was deleted, counted from the request and the grant of
/// its lease.
struct Story {
  std::vector<std::string> said = {};
  Duration after_asking{};
  Duration after_the_grant{};
};

pb::LeaseGrantRequest GrantOf(std::int64_t lease, std::int64_t ttl) {
  pb::LeaseGrantRequest request;
  request.set_id(lease);
  request.set_ttl(ttl);
  return request;
}

pb::TxnRequest PutOn(std::int64_t lease, const std::vector<std::string>& keys) {
  pb::TxnRequest request;
  for (const std::string& key : keys) {
    auto* put = request.add_success()->mutable_request_put();
    put->set_key(key);
    put->set_lease(lease);
  }
  return request;
}

OpenWatch WatchAll() {
  OpenWatch watch;
  watch.request.set_key(std::string(1, '\0'));
  watch.request.set_range_end(std::string(1, '\0'));
  return watch;
}

// Asks what is left of the lease that ended, and of the one that lives.
void AskAfterwards(Runner& runner, Story& story) {
  for (const std::int64_t lease : {kEnds, kLives}) {
    pb::LeaseTimeToLiveRequest ask;
    ask.set_id(lease);
    ask.set_keys(true);
    story.said.push_back(runner.Do(ask));
    story.said.push_back(runner.Do(KeepAlive{lease}));
    story.said.push_back(runner.Do(PutOn(lease, {"late"})));
  }
  pb::LeaseRevokeRequest revoke;
  revoke.set_id(kEnds);
  story.said.push_back(runner.Do(revoke));
  story.said.push_back(runner.Do(GrantOf(kEnds, 60)));
}

// Plan: two keys on a lease of 2 s and one on a long one; watched until they go; then questions.
Story RunStory(Party& party) {
  constexpr std::size_t kTold = 6;  // created, three puts, two deletions
  Runner runner(party);
  Story story;
  story.said.push_back(runner.Do(WatchAll()));
  story.said.push_back(runner.Do(GrantOf(kLives, 60)));
  const Duration asked = party.Now();
  story.said.push_back(runner.Do(GrantOf(kEnds, kAsked)));
  const Duration granted = party.Now();
  story.said.push_back(runner.Do(PutOn(kEnds, {"b", "a"})));
  story.said.push_back(runner.Do(PutOn(kLives, {"c"})));
  if (!runner.AwaitTold(0, kTold)) story.said.push_back("the keys stay");
  story.after_asking = party.Now() - asked;
  story.after_the_grant = party.Now() - granted;
  for (std::string& entry : runner.Told(0)) story.said.push_back(std::move(entry));
  AskAfterwards(runner, story);
  return story;
}

std::string InMilliseconds(Duration length) {
  return std::to_string(length / milliseconds(1)) + " ms";
}

// No lease ends early, and the model's leases end when they should. (How late a real lease ends
// depends on the machine.)
std::optional<std::string> CheckTimes(const Party& party, const Story& story, bool modelled) {
  const bool early = story.after_asking < seconds(kGranted);
  const bool late = modelled && story.after_the_grant > seconds(kGranted) + kModelsLatest;
  if (!early && !late) return std::nullopt;
  return std::string(party.name()) + ": a lease of 2 s ended " +
         InMilliseconds(story.after_asking) + " after it was asked for\n";
}

}  // namespace

CheckResult CheckExpiry(Party& real, std::uint64_t seed) {
  CheckResult result;
  const Story truth = RunStory(real);
  result.difference = CheckTimes(real, truth, false);
  result.told = truth.said.size();
  for (const bool documented : {true, false}) {
    ModelParty model(ModelOf(real.version(), documented), seed);
    const Story story = RunStory(model);
    if (!result.difference) result.difference = CheckTimes(model, story, true);
    for (std::size_t i = 0; i < std::max(truth.said.size(), story.said.size()); ++i) {
      const std::string real_said = i < truth.said.size() ? truth.said[i] : "nothing more";
      const std::string model_said = i < story.said.size() ? story.said[i] : "nothing more";
      if (result.difference || real_said == model_said) continue;
      result.difference = "expiry, answer " + std::to_string(i) + "\n  etcd: " + real_said +
                          "\n  " + model.name() + ": " + model_said + "\n";
    }
  }
  return result;
}

}  // namespace baton::sim
