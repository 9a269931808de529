#include "app/ctl/doctor.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include <boost/json.hpp>

#include "app/ctl/client.h"
#include "app/ctl/others.h"
#include "app/ctl/output.h"
#include "base/timestamp.h"
#include "runtime/doctor/group_judgement.h"
#include "runtime/doctor/judgement.h"

namespace baton::app {
namespace {

namespace json = boost::json;
using runtime::Diagnosis;
using runtime::Finding;
using runtime::Severity;
using WallTime = std::chrono::system_clock::time_point;

constexpr std::chrono::seconds kDoctorTimeout{20};  // the node waits at most 12 s for etcd

Style StyleOf(Severity severity) {
  switch (severity) {
    case Severity::kOk: return Style::kGood;
    case Severity::kNotice: return Style::kPlain;
    case Severity::kWarning: return Style::kWarning;
    case Severity::kProblem: return Style::kBad;
  }
  return Style::kPlain;
}

void PrintJson(const CtlOptions& options, const Diagnosis& diagnosis, bool healthy) {
  json::array findings;
  for (const Finding& finding : diagnosis.findings) {
    findings.push_back(
        {{"check", finding.check},
         {"severity", ToString(finding.severity)},
         {"what", finding.what},
         {"advice", finding.advice.empty() ? json::value(nullptr) : json::value(finding.advice)}});
  }
  PrintStructured(options, json::serialize(json::object{{"group", diagnosis.group},
                                                        {"node", diagnosis.node},
                                                        {"at", Timestamp(diagnosis.at)},
                                                        {"healthy", healthy},
                                                        {"findings", std::move(findings)}}));
}

void PrintLines(const CtlOptions& options, const Diagnosis& diagnosis) {
  std::size_t widest = 0;
  for (const Finding& finding : diagnosis.findings) widest = std::max(widest, finding.check.size());
  for (const Finding& finding : diagnosis.findings) {
    std::string severity = ToString(finding.severity);
    std::string check = finding.check;
    severity.resize(9, ' ');
    check.resize(widest + 2, ' ');
    PrintCells(options, {{severity, StyleOf(finding.severity)}, {check + finding.what}});
    if (!finding.advice.empty()) PrintLine(std::string(widest + 11, ' ') + "-> " + finding.advice);
  }
}

/// Adds what only other nodes know of themselves: that they fail to activate shards, or that shards
/// which they gave up are still stopping. At most kMaxOthers nodes are named.
void AddCallbacksOfOthers(AdminClient& client, const ClientTls& tls, TimePoint deadline,
                          Diagnosis* diagnosis) {
  constexpr std::size_t kMaxOthers = 16;
  const auto group =
      client.GetStatus(false, std::min(deadline, BootClock::now() + kOthersPatience));
  if (!group) return;  // the node's own findings say what is wrong
  std::size_t added = 0;
  for (const runtime::NodeStatus& other : AskOthers(group.value().status, tls, deadline).answered) {
    if ((other.failing == 0 && other.stopping == 0) || added++ >= kMaxOthers) continue;
    if (other.failing > 0) diagnosis->findings.push_back(runtime::Activations(other));
    if (other.stopping > 0) diagnosis->findings.push_back(runtime::Callbacks(other));
  }
}

}  // namespace

ExitCode Examine(const CtlOptions& options) {
  AdminClient client(options);
  const WallTime asked = std::chrono::system_clock::now();
  const TimePoint deadline = BootClock::now() + options.timeout.value_or(kDoctorTimeout);
  auto answer = client.Diagnose(deadline);
  if (!answer) return Fail(answer.error());
  Diagnosis& diagnosis = answer.value();
  const WallTime answered = std::chrono::system_clock::now();
  AddCallbacksOfOthers(client, options.tls, deadline, &diagnosis);
  diagnosis.findings.push_back(runtime::ClockDifference(asked, diagnosis.at, answered));
  const bool healthy =
      std::none_of(diagnosis.findings.begin(), diagnosis.findings.end(),
                   [](const Finding& finding) { return finding.severity == Severity::kProblem; });
  if (options.structured()) {
    PrintJson(options, diagnosis, healthy);
  } else {
    PrintLines(options, diagnosis);
  }
  return healthy ? ExitCode::kDone : ExitCode::kFailed;
}

}  // namespace baton::app
