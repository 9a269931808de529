// Compares an etcd without space with the model without space.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sim/model_check/check.h"
#include "sim/model_check/runner.h"

namespace baton::sim {
namespace {

constexpr std::size_t kLargeValue = 1'000'000;
constexpr int kMaxPuts = 100;
constexpr std::int64_t kLease = 1;

using Answers = std::vector<std::pair<std::string, std::string>>;  // asked, answered

void AddPut(pb::RequestOp& operation, const std::string& key, const std::string& value) {
  operation.mutable_request_put()->set_key(key);
  operation.mutable_request_put()->set_value(value);
}

pb::TxnRequest PutOf(const std::string& key, const std::string& value) {
  pb::TxnRequest request;
  AddPut(*request.add_success(), key, value);
  return request;
}

pb::TxnRequest DeleteOf(const std::string& key) {
  pb::TxnRequest request;
  request.add_success()->mutable_request_delete_range()->set_key(key);
  return request;
}

pb::LeaseGrantRequest GrantOf(std::int64_t lease) {
  pb::LeaseGrantRequest request;
  request.set_id(lease);
  request.set_ttl(60);
  return request;
}

// The compare is false.
pb::TxnRequest Guarded(pb::TxnRequest request) {
  auto* compare = request.add_compare();
  compare->set_key("nothing");
  compare->set_version(1);
  return request;
}

pb::TxnRequest Swapped(pb::TxnRequest request) {
  request.mutable_success()->Swap(request.mutable_failure());
  return request;
}

pb::TxnRequest Nested(const pb::TxnRequest& inner) {
  pb::TxnRequest request;
  *request.add_success()->mutable_request_txn() = inner;
  return request;
}

void Ask(Runner& runner, const Operation& operation, Answers& answers) {
  answers.emplace_back(Text(operation), runner.Do(operation));
}

void Prepare(Runner& runner, Answers& answers) {
  Ask(runner, GrantOf(kLease), answers);
  Ask(runner, PutOf("a", "1"), answers);
  Ask(runner, PutOf("b", "1"), answers);
}

// Puts until etcd refuses puts without carrying them out: it raises its alarm a moment after the
// first that it refuses.
void Fill(Runner& runner) {
  for (int count = 0; count < kMaxPuts; ++count) {
    const std::int64_t before = runner.Revision();
    runner.Do(PutOf("fill", std::string(kLargeValue, 'x')));
    if (runner.Revision() == before) return;
  }
}

void AskWithoutSpace(Runner& runner, Answers& answers) {
  pb::RangeRequest all;
  all.set_key("a");
  all.set_range_end("c");
  pb::LeaseTimeToLiveRequest left;
  left.set_id(kLease);
  pb::LeaseRevokeRequest revoke;
  revoke.set_id(kLease);
  const Operation operations[] = {
      PutOf("a", "2"),
      DeleteOf("nothing"),
      Guarded(PutOf("a", "3")),
      Swapped(PutOf("a", "4")),
      Guarded(Swapped(PutOf("a", "5"))),
      Nested(PutOf("a", "6")),
      all,
      GrantOf(kLease + 1),
      GrantOf(kLease),
      KeepAlive{kLease},
      left,
      DeleteOf("b"),
      PutOf("b", "2"),
      revoke,
      all,
  };
  for (const Operation& operation : operations) Ask(runner, operation, answers);
}

std::string WordsOf(const Answers& answers, std::size_t i) {
  return i < answers.size() ? answers[i].first + ": " + answers[i].second : "nothing more";
}

}  // namespace

// Plan: fill the real one; give the model as many puts as were carried out, and set it full.
CheckResult CheckNoSpace(Party& real, std::uint64_t seed) {
  ModelParty model(ModelOf(real.version(), false), seed);
  Answers truth;
  Answers modelled;
  {
    Runner real_runner(real);
    Runner model_runner(model);
    Prepare(real_runner, truth);
    Prepare(model_runner, modelled);
    Fill(real_runner);
    while (model_runner.Revision() < real_runner.Revision()) model_runner.Do(PutOf("fill", ""));
    model.model().SetNoSpace(true);
    AskWithoutSpace(real_runner, truth);
    AskWithoutSpace(model_runner, modelled);
  }
  CheckResult result;
  for (std::size_t i = 0; i < std::max(truth.size(), modelled.size()); ++i) {
    if (result.difference || WordsOf(truth, i) == WordsOf(modelled, i)) continue;
    result.difference = "no space, answer " + std::to_string(i) + "\n  etcd: " + WordsOf(truth, i) +
                        "\n  " + model.name() + ": " + WordsOf(modelled, i) + "\n";
  }
  result.told = truth.size();
  return result;
}

}  // namespace baton::sim
