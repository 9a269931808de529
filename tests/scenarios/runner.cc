#include "scenarios/runner.h"

#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <vector>

#include "core/cluster.h"

namespace baton::test {
namespace {

constexpr const char* kIndent = "    ";

// Formats 0,1,2,5 as "0-2 5".
std::string Ranges(const std::vector<std::uint32_t>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i;
    while (end + 1 < numbers.size() && numbers[end + 1] == numbers[end] + 1) ++end;
    if (!text.empty()) text += ' ';
    text += std::to_string(numbers[i]);
    if (end > i) text += '-' + std::to_string(numbers[end]);
    i = end + 1;
  }
  return text.empty() ? "none" : text;
}

Duration ParseDuration(const std::string& text) {
  std::size_t used = 0;
  const auto count = static_cast<std::int64_t>(std::stoul(text, &used));
  return text.substr(used) == "ms" ? Duration(milliseconds(count)) : Duration(seconds(count));
}

class Scenario {
 public:
  std::string Run(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with(kIndent)) continue;  // the trace of an earlier run
      out_ << line << '\n';
      if (line.empty() || line[0] == '#') continue;
      try {
        Carry(line);
      } catch (const std::exception& error) {
        out_ << kIndent << "error: " << error.what() << '\n';
      }
      Flush();
    }
    if (cluster_) {
      for (const std::string& violation : cluster_->violations())
        out_ << kIndent << "error: " << violation << '\n';
    }
    return out_.str();
  }

 private:
  void Carry(const std::string& line) {
    std::istringstream in(line);
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    const std::string verb = words.at(0);
    if (verb == "nodes") return Size(words);
    if (verb == "set") return Set(words.at(1), words.at(2));
    if (verb == "external") return void(external_.insert(words.at(1)));
    if (!cluster_) Build();
    if (verb == "run") return cluster_->Run(ParseDuration(words.at(1)));
    if (verb == "leaders") return Leaders();
    if (verb == "outage") return cluster_->Outage(words.size() == 1);
    if (verb == "transfer") return Transfer(words.at(1), words.at(2));
    if (verb == "policy" || verb == "unpolicy") {
      cluster_->Policy(AnyRunning(), PolicyNamed(words.at(1)), verb == "policy");
      return;
    }
    if (verb == "hang") return Hang(words.at(1), words.at(2));
    for (std::size_t i = 1; i < words.size(); ++i) OnNode(verb, words[i]);
  }

  void Size(const std::vector<std::string>& words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (words[i] == "nodes")
        options_.nodes = std::stoi(words.at(++i));
      else if (words[i] == "shards")
        options_.shards = static_cast<std::uint32_t>(std::stoul(words.at(++i)));
      else if (words[i] == "seed")
        options_.seed = std::stoull(words.at(++i));
      else if (words[i] == "no-listener")
        options_.listener = false;
      else
        throw std::invalid_argument("unknown word " + words[i]);
    }
  }

  void Set(const std::string& name, const std::string& value) { settings_[name] = value; }

  void Build() {
    // One fixed latency, so that a trace changes only if the behaviour does.
    options_.latency_least = options_.latency_most = milliseconds(1);
    options_.watch_delay_most = Duration{0};
    options_.expiry_late_most = Duration{0};
    options_.tune = [settings = settings_, external = external_](core::CoreOptions& tuned) {
      tuned.external = external.contains(tuned.self.node);
      const std::map<std::string, Duration core::CoreOptions::*> durations = {
          {"settle", &core::CoreOptions::settle},
          {"rebalance-delay", &core::CoreOptions::rebalance_delay},
          {"cooldown", &core::CoreOptions::cooldown},
          {"prepare-timeout", &core::CoreOptions::prepare_timeout},
          {"release-timeout", &core::CoreOptions::release_timeout},
          {"callback-timeout", &core::CoreOptions::callback_timeout},
          {"drain-timeout", &core::CoreOptions::drain_timeout}};
      for (const auto& [name, value] : settings) {
        const auto found = durations.find(name);
        if (found != durations.end())
          tuned.*found->second = ParseDuration(value);
        else if (name == "expect-nodes")
          tuned.expect_nodes = static_cast<std::uint32_t>(std::stoul(value));
        else if (name == "max-moves")
          tuned.max_moves = static_cast<std::uint32_t>(std::stoul(value));
        else
          throw std::invalid_argument("unknown setting " + name);
      }
    };
    cluster_ = std::make_unique<Cluster>(options_);
    began_ = cluster_->now();
    cluster_->on_action = [this](const NodeId& node, const core::Action& action) {
      Trace(node, action);
    };
  }

  void OnNode(const std::string& verb, const NodeId& node) {
    if (verb == "start")
      cluster_->Start(node);
    else if (verb == "restart")
      cluster_->Start(node, true);
    else if (verb == "kill")
      cluster_->Kill(node);
    else if (verb == "pause")
      cluster_->Pause(node);
    else if (verb == "resume")
      cluster_->Resume(node);
    else if (verb == "drain")
      cluster_->Drain(node);
    else if (verb == "cut")
      cluster_->CutOff(node);
    else if (verb == "uncut")
      cluster_->CutOff(node, false);
    else if (verb == "lose-replies")
      cluster_->LoseReplies(node);
    else if (verb == "keep-replies")
      cluster_->LoseReplies(node, false);
    else if (verb == "hold-watch")
      cluster_->HoldWatch(node);
    else if (verb == "give-watch")
      cluster_->HoldWatch(node, false);
    else if (verb == "attach")
      cluster_->Deliver(node, core::ApplicationChanged{core::ApplicationState::kAttached});
    else if (verb == "detach")
      cluster_->Deliver(node, core::ApplicationChanged{core::ApplicationState::kDetached});
    else if (verb == "absent")
      cluster_->Deliver(node, core::ApplicationChanged{core::ApplicationState::kAbsent});
    else
      throw std::invalid_argument("unknown command " + verb);
  }

  NodeId AnyRunning() const {
    for (const NodeId& node : cluster_->names()) {
      if (cluster_->Running(node)) return node;
    }
    throw std::invalid_argument("no node runs");
  }

  void Transfer(const std::string& shard, const NodeId& to) {
    const ShardId id{static_cast<std::uint32_t>(std::stoul(shard))};
    cluster_->Transfer(AnyRunning(), {.shard = id, .to = to, .if_term = {}, .actor = "alice"});
  }

  void Hang(const NodeId& node, const std::string& kind) {
    for (const auto known : {core::CallbackKind::kPrepare, core::CallbackKind::kAcquired,
                             core::CallbackKind::kReleasing, core::CallbackKind::kLost}) {
      if (kind == core::ToString(known)) cluster_->Behave(node, known, Behaviour::kHangs);
    }
  }

  void Leaders() {
    for (const NodeId& node : cluster_->names()) {
      std::vector<std::uint32_t> led;
      for (const ShardId shard : cluster_->ShardsOf(node)) led.push_back(shard.value);
      out_ << kIndent << node << ": " << Ranges(led) << '\n';
    }
  }

  // Shards with the same event at the same time share a line.
  void Trace(const NodeId& node, const core::Action& action) {
    if (const auto* report = std::get_if<core::ReportTransition>(&action)) {
      const Transition& transition = report->transition;
      std::string what = ToString(transition.reason);
      if (!transition.from.empty() && transition.from != node) what += " from " + transition.from;
      if (!transition.actor.empty()) what += " by " + transition.actor;
      Add(node, (transition.to.empty() ? "stops (" : "leads (") + what + ")", transition.shard);
    } else if (const auto* submit = std::get_if<core::SubmitWrite>(&action)) {
      TraceWrite(node, *submit->write);
    } else if (const auto* callback = std::get_if<core::RunCallback>(&action)) {
      if (callback->kind == core::CallbackKind::kLost) Add(node, "lost", callback->shard);
    } else if (std::holds_alternative<core::GrantLease>(action)) {
      Say(node, "begins a session");
    } else if (const auto* notice = std::get_if<core::Notice>(&action)) {
      Say(node, notice->text);
    } else if (const auto* halt = std::get_if<core::HaltNode>(&action)) {
      Say(node, "halts: " + halt->why.message);
    } else if (const auto* finished = std::get_if<core::Finished>(&action)) {
      Say(node, finished->drained ? "ends, drained" : "ends, not drained");
    } else if (const auto* answer = std::get_if<core::AnswerTransfer>(&action)) {
      Say(node, answer->result->ok() ? "answers: the transfer is planned"
                                     : "answers: " + answer->result->error().message);
    }
  }

  void TraceWrite(const NodeId& node, const Write& write) {
    if (const auto* claims = std::get_if<ClaimBatch>(&write)) {
      for (const Claim& claim : claims->claims) {
        if (claim.shard)
          Add(node, "claims", *claim.shard);
        else
          Say(node, "claims the balancer's role");
      }
    } else if (const auto* transfers = std::get_if<TransferBatch>(&write)) {
      for (const auto& transfer : transfers->transfers)
        Add(node, "transfers to " + transfer.to.node, transfer.shard);
    } else if (const auto* abandons = std::get_if<AbandonBatch>(&write)) {
      for (const Abandon& abandon : abandons->abandons)
        Add(node, "abandons the transfer of", abandon.shard);
    } else if (const auto* resigns = std::get_if<ResignBatch>(&write)) {
      for (const Resign& resign : resigns->resigns) {
        if (resign.shard)
          Add(node, "resigns", *resign.shard);
        else
          Say(node, "resigns the balancer's role");
      }
    } else if (const auto* moves = std::get_if<MoveBatch>(&write)) {
      for (const MoveWrite& move : moves->moves) {
        const std::string phase = move.move.present ? ToString(move.move.phase) : "deletes";
        Add(node, "writes move " + move.move.from + " to " + move.move.to + ", " + phase,
            move.move.shard);
      }
    } else if (std::holds_alternative<MemberTakeover>(write)) {
      Say(node, "takes its member key over");
    }
  }

  void Add(const NodeId& node, const std::string& what, ShardId shard) {
    const auto at = cluster_->now();
    if (at != at_ || node != node_ || what != what_) Flush();
    at_ = at;
    node_ = node;
    what_ = what;
    shards_.push_back(shard.value);
  }
  void Say(const NodeId& node, const std::string& what) {
    Flush();
    Line(cluster_->now(), node, what);
  }
  void Flush() {
    if (!shards_.empty()) Line(at_, node_, what_ + ": " + Ranges(shards_));
    shards_.clear();
  }
  void Line(TimePoint at, const NodeId& node, const std::string& what) {
    char time[32];
    const auto since = std::chrono::duration_cast<milliseconds>(at - began_).count();
    std::snprintf(time, sizeof time, "%7.3f", static_cast<double>(since) / 1000);
    out_ << kIndent << time << "  " << node << "  " << what << '\n';
  }

  ClusterOptions options_;
  std::set<NodeId> external_;
  std::map<std::string, std::string> settings_;
  std::unique_ptr<Cluster> cluster_;
  TimePoint began_;
  std::ostringstream out_;
  TimePoint at_{};
  NodeId node_;
  std::string what_;
  std::vector<std::uint32_t> shards_;
};

}  // namespace

std::string RunScenario(const std::string& text) { return Scenario().Run(text); }

}  // namespace baton::test
