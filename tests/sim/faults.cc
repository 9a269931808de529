#include "sim/faults.h"

namespace baton::sim {
namespace {

constexpr const char* kFaultNames[kFaultCount] = {
    "request_lost",
    "reply_lost",
    "reply_late",
    "request_late",
    "request_twice",
    "connection_reset",
    "stream_ended",
    "stream_late",
    "message_held",
    "pause",
    "pause_before_write",
    "kill",
    "restart",
    "twin",
    "drain",
    "stop",
    "member_down",
    "member_frozen",
    "member_isolated",
    "member_lags",
    "quorum_lost",
    "raft_leader_changed",
    "proposal_lost",
    "stuck_leader_answered",
    "late_revoke",
    "renewed_while_revoked",
    "watch_silent",
    "events_repeated",
    "deletion_lost",
    "compaction",
    "watch_compacted",
    "no_space_refused",
    "no_space_applied",
    "operator_revoked",
    "operator_deleted_member",
    "operator_deleted_record",
    "operator_garbage",
    "operator_asked",
    "callback_slow",
    "callback_threw",
    "callback_hung",
    "suspend",
    "token_refused",
    "commit_stalled",
};

constexpr const char* kPhaseNames[kPhaseCount] = {
    "reading",    "watching",  "granting",  "joining",   "taking_over",  "revoking",   "renewing",
    "confirming", "claiming",  "planning",  "prepared",  "transferring", "abandoning", "leaving",
    "policy",     "preparing", "releasing", "suspended", "idle",
};

template <typename Visit>
void ForEachCell(Visit visit) {
  for (std::size_t fault = 0; fault < kFaultCount; ++fault) {
    for (std::size_t phase = 0; phase < kPhaseCount; ++phase) {
      visit(static_cast<Fault>(fault), static_cast<Phase>(phase));
    }
  }
}

std::string Name(Fault fault, Phase phase) {
  return std::string(ToString(fault)) + " x " + ToString(phase);
}

}  // namespace

const char* ToString(Fault fault) { return kFaultNames[static_cast<std::size_t>(fault)]; }
const char* ToString(Phase phase) { return kPhaseNames[static_cast<std::size_t>(phase)]; }

std::string ToString(Phases phases) {
  std::string text;
  for (std::size_t i = 0; i < kPhaseCount; ++i) {
    if (!phases.Has(static_cast<Phase>(i))) continue;
    text += (text.empty() ? "" : ", ") + std::string(kPhaseNames[i]);
  }
  return text;
}

void FaultTable::Add(Fault fault, Phases struck) {
  for (std::size_t i = 0; i < kPhaseCount; ++i) {
    if (struck.Has(static_cast<Phase>(i))) ++cells_[static_cast<std::size_t>(fault)][i];
  }
}

void FaultTable::Add(const FaultTable& other) {
  for (std::size_t fault = 0; fault < kFaultCount; ++fault) {
    for (std::size_t phase = 0; phase < kPhaseCount; ++phase) {
      cells_[fault][phase] += other.cells_[fault][phase];
    }
  }
}

const char* WhyImpossible(Fault fault, Phase phase) {
  for (const Impossible& cells : ImpossibleCells()) {
    if (!cells.phases.Has(phase)) continue;
    for (const Fault listed : cells.faults) {
      if (listed == fault) return cells.why;
    }
  }
  return nullptr;
}

std::vector<std::string> HitThoughImpossible(const FaultTable& table) {
  std::vector<std::string> hit;
  ForEachCell([&](Fault fault, Phase phase) {
    const char* why = WhyImpossible(fault, phase);
    if (why == nullptr || table.At(fault, phase) == 0) return;
    hit.push_back(Name(fault, phase) + " was hit, but: " + why);
  });
  return hit;
}

std::vector<std::string> HitTooSeldom(const FaultTable& table, std::uint64_t least) {
  std::vector<std::string> seldom;
  ForEachCell([&](Fault fault, Phase phase) {
    if (table.At(fault, phase) >= least || WhyImpossible(fault, phase) != nullptr) return;
    seldom.push_back(Name(fault, phase) + ": " + std::to_string(table.At(fault, phase)));
  });
  return seldom;
}

std::string TableText(const FaultTable& table, const FaultCounts& counts) {
  std::string text = "| fault | all |";
  std::string rule = "| --- | ---: |";
  for (const char* phase : kPhaseNames) {
    text += std::string(" ") + phase + " |";
    rule += " ---: |";
  }
  text += "\n" + rule;
  for (std::size_t i = 0; i < kFaultCount; ++i) {
    const auto fault = static_cast<Fault>(i);
    text += std::string("\n| ") + ToString(fault) + " | " + std::to_string(counts[i]) + " |";
    for (std::size_t phase = 0; phase < kPhaseCount; ++phase) {
      const std::uint64_t hits = table.At(fault, static_cast<Phase>(phase));
      const bool impossible = WhyImpossible(fault, static_cast<Phase>(phase)) != nullptr;
      text += " " + (impossible && hits == 0 ? std::string("-") : std::to_string(hits)) + " |";
    }
  }
  text += "\n";
  for (const Impossible& cells : ImpossibleCells()) {
    text += "\n- " + ToString(cells.phases) + ": " + cells.why;
  }
  return text + "\n";
}

}  // namespace baton::sim
