#include "sim/model_check/check.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <utility>
#include <vector>

#include "sim/model_check/runner.h"
#include "sim/model_check/script.h"

namespace baton::sim {
namespace {

// The time until every member of the model has applied what was committed.
constexpr Duration kSettles = milliseconds(5);
// The time until the model's watches that began in the past have caught up.
constexpr Duration kCatchesUp = milliseconds(110);

constexpr milliseconds kModelAnswers{5};
constexpr milliseconds kAnswersTake{100};

// On a slow machine a script ends early, before a lease could end.
constexpr Duration kLongestScript = seconds(kElectionSeconds);

const std::string kToTheEnd(1, '\0');

const EtcdModelOptions kModelOptions{.operations = kScriptOperations,
                                     .election_timeout = seconds(kElectionSeconds)};

// The revision of an event in words; the greatest one if it has none.
std::int64_t ModRevision(const std::string& entry) {
  static const std::string kBefore = "mod_revision: ";
  const auto found = entry.find(kBefore);
  if (found == std::string::npos) return INT64_MAX;
  return std::stoll(entry.substr(found + kBefore.size()));
}

/// Runs one script at the real etcd and at both models.
class Comparison {
 public:
  Comparison(Party& real, std::uint64_t seed, bool verbose)
      : seed_(seed),
        verbose_(verbose),
        real_party_(real),
        version_model_(ModelOf(real.version(), false, kModelOptions), seed),
        documented_model_(ModelOf(real.version(), true, kModelOptions), seed),
        real_(real),
        version_(version_model_),
        documented_(documented_model_),
        script_(seed) {}

  CheckResult Run(int operations) {
    const Duration end = real_party_.Now() + kLongestScript;
    for (number_ = 1; number_ <= operations && !result_.difference; ++number_) {
      if (real_party_.Now() > end) break;
      Step(script_.Next(version_model_.model().store()));
    }
    if (!result_.difference) PutEverywhere();
    if (!result_.difference) CompareTold("the end");
    result_.revisions = version_model_.model().store().revision();
    return std::move(result_);
  }

 private:
  void Step(const Operation& operation) {
    const std::string asked = baton::sim::Text(operation);
    if (verbose_) std::printf("%llu.%d %s\n", Long(seed_), number_, asked.c_str());
    if (DependsOnWatches(operation)) CompareTold(asked);
    if (result_.difference) return;
    const std::string modelled = version_.Do(InModel(operation));
    const std::string answer = real_.Do(InReal(operation, modelled == kNoProgress));
    if (verbose_) std::printf("    %s\n", answer.c_str());
    Expect(asked, answer, version_model_, modelled);
    Expect(asked, answer, documented_model_, documented_.Do(InModel(operation)));
    Pass(kSettles);
    ++result_.operations[operation.index()];
    if (answer.starts_with("refused")) ++result_.refusals[answer];
    if (const auto* opened = std::get_if<OpenWatch>(&operation)) NoteBehind(opened->request);
  }

  // A progress request may stay without an answer. In the model no time may pass by that; and of
  // the real one an answer that should not come is not waited for much longer than answers take.
  static Operation InModel(Operation operation) {
    if (auto* asked = std::get_if<AskProgress>(&operation)) asked->patience = kModelAnswers;
    return operation;
  }
  static Operation InReal(Operation operation, bool unanswered) {
    auto* asked = std::get_if<AskProgress>(&operation);
    if (asked != nullptr && unanswered) asked->patience = kAnswersTake;
    return operation;
  }

  // The messages of a watch must not depend on how far etcd had got with it.
  static bool DependsOnWatches(const Operation& operation) {
    return std::holds_alternative<pb::CompactionRequest>(operation) ||
           std::holds_alternative<OpenWatch>(operation) ||
           std::holds_alternative<AskProgress>(operation) ||
           std::holds_alternative<CancelWatch>(operation);
  }

  void Pass(Duration length) {
    version_model_.Pass(length);
    documented_model_.Pass(length);
  }

  void Expect(const std::string& asked, const std::string& real, const Party& model,
              const std::string& modelled) {
    if (result_.difference || real == modelled) return;
    char head[200];
    std::snprintf(head, sizeof head,
                  "seed %llu, operation %d; again: baton_model_check --seed %llu --operations %d "
                  "--verbose\n",
                  Long(seed_), number_, Long(seed_), number_);
    result_.difference = std::string(head) + "  asked: " + asked + "\n  etcd: " + real + "\n  " +
                         model.name() + ": " + modelled + "\n";
  }

  void NoteBehind(const pb::WatchCreateRequest& request) {
    const bool all = request.key() == kToTheEnd;
    if (request.start_revision() > 0) behind_.insert(all ? kFirstKey : request.key());
  }

  // A separate loop of etcd's serves a watch that begins in the past, at unknown times. Once it has
  // sent what comes now, the watch has caught up.
  void LetWatchesCatchUp() {
    const std::set<std::string> keys = std::exchange(behind_, {});
    for (const std::string& key : keys) {
      pb::TxnRequest request;
      request.add_success()->mutable_request_put()->set_key(key);
      if (!result_.difference) Step(request);
    }
    Pass(keys.empty() ? kSettles : kCatchesUp);
  }

  // Each watcher's entries so far.
  void CompareTold(const std::string& before) {
    LetWatchesCatchUp();
    for (int watcher = 0; watcher < kWatchers && !result_.difference; ++watcher) {
      const auto modelled = version_.Told(watcher);
      real_.AwaitTold(watcher, modelled.size());
      const auto real = real_.Told(watcher);
      const std::string asked = "watcher " + std::to_string(watcher) + ", before " + before;
      CompareStories(asked, real, modelled);
      CompareDocumented(asked, real, documented_.Told(watcher));
      if (real.size() > compared_[Index(watcher)]) {
        result_.told += real.size() - compared_[Index(watcher)];
      }
      compared_[Index(watcher)] = real.size();
    }
  }

  void CompareStories(const std::string& asked, const std::vector<std::string>& real,
                      const std::vector<std::string>& modelled) {
    static const std::string kNothing = "nothing more";
    for (std::size_t i = 0; i < std::max(real.size(), modelled.size()); ++i) {
      Expect(asked + ", entry " + std::to_string(i), i < real.size() ? real[i] : kNothing,
             version_model_, i < modelled.size() ? modelled[i] : kNothing);
    }
  }

  // The documents promise every event; 3.4.23 misses deletions at the revision that was compacted.
  // (The model's 3.4.23 must miss the same ones.)
  void CompareDocumented(const std::string& asked, const std::vector<std::string>& real,
                         const std::vector<std::string>& modelled) {
    std::size_t next = 0;
    for (const std::string& entry : modelled) {
      if (next < real.size() && real[next] == entry) {
        ++next;
      } else if (ModRevision(entry) <= version_model_.model().store().compacted()) {
        ++result_.compacted_away;
      } else {
        return Expect(asked, next < real.size() ? real[next] : "nothing more", documented_model_,
                      entry);
      }
    }
    if (next < real.size()) Expect(asked, real[next], documented_model_, "nothing more");
  }

  // Gives every watch an event that comes after all others.
  void PutEverywhere() {
    for (const pb::TxnRequest& request : Script::PutsEverywhere()) Step(request);
  }

  static unsigned long long Long(std::uint64_t number) { return number; }
  static std::size_t Index(int watcher) { return static_cast<std::size_t>(watcher); }

  const std::uint64_t seed_;
  const bool verbose_;
  Party& real_party_;
  ModelParty version_model_;
  ModelParty documented_model_;
  Runner real_;
  Runner version_;
  Runner documented_;
  Script script_;
  CheckResult result_;
  int number_ = 0;
  std::set<std::string> behind_;  ///< keys of watches that may be behind
  std::array<std::size_t, kWatchers> compared_{};
};

}  // namespace

std::string Text(const Operation& operation) {
  const auto words = [](const auto& one) -> std::string {
    if constexpr (requires { one.ShortDebugString(); }) {
      return one.ShortDebugString();
    } else if constexpr (requires { one.lease; }) {
      return std::to_string(one.lease);
    } else if constexpr (requires { one.request; }) {
      return std::to_string(one.watcher) + ": " + one.request.ShortDebugString();
    } else if constexpr (requires { one.watcher; }) {
      return std::to_string(one.watcher);
    } else {
      return "";
    }
  };
  return std::string(kKindNames[operation.index()]) + " " + std::visit(words, operation);
}

std::uint64_t CheckResult::total() const {
  std::uint64_t sum = 0;
  for (const std::uint64_t count : operations) sum += count;
  return sum;
}

void CheckResult::Add(const CheckResult& other) {
  for (std::size_t i = 0; i < kKinds; ++i) operations[i] += other.operations[i];
  for (const auto& [words, count] : other.refusals) refusals[words] += count;
  revisions += other.revisions;
  told += other.told;
  compacted_away += other.compacted_away;
  if (!difference) difference = other.difference;
}

std::string CheckResult::Text() const {
  std::string text;
  const auto line = [&text](std::uint64_t count, const std::string& what) {
    text += std::to_string(count) + "\t" + what + "\n";
  };
  for (std::size_t i = 0; i < kKinds; ++i) line(operations[i], kKindNames[i]);
  for (const auto& [words, count] : refusals) line(count, words);
  line(static_cast<std::uint64_t>(revisions), "revisions");
  line(told, "entries of watches");
  line(compacted_away, "events of the compacted revision that the documented model alone told");
  line(total(), "operations");
  return text + (difference ? "DIFFERENT: " + *difference : "no difference\n");
}

std::unique_ptr<RealParty> StartScriptsEtcd(std::string& why) {
  return RealParty::Start({"--max-txn-ops=" + std::to_string(kScriptOperations),
                           "--election-timeout=" + std::to_string(kElectionSeconds * 1000)},
                          why);
}

CheckResult CheckScript(Party& real, std::uint64_t seed, int operations, bool verbose) {
  return Comparison(real, seed, verbose).Run(operations);
}

CheckResult CheckScripts(Party& real, std::uint64_t first_seed, int operations, bool verbose) {
  CheckResult sum;
  for (std::uint64_t seed = first_seed; operations > 0 && !sum.difference; ++seed) {
    const int most = std::min(operations, kOperationsOfAScript);
    const CheckResult script = CheckScript(real, seed, most, verbose);
    operations -= std::min(most, static_cast<int>(script.total()));
    sum.Add(script);
  }
  return sum;
}

}  // namespace baton::sim
