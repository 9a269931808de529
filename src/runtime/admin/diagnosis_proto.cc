#include "runtime/admin/diagnosis_proto.h"

#include "runtime/admin/proto_time.h"

namespace baton::runtime {

// A message's severity is ours plus one, because zero is unspecified.
static_assert(v1::Finding::SEVERITY_OK == static_cast<int>(Severity::kOk) + 1);
static_assert(v1::Finding::SEVERITY_PROBLEM == static_cast<int>(Severity::kProblem) + 1);

void ToProto(const Diagnosis& diagnosis, v1::DiagnoseResponse* out) {
  out->set_group(diagnosis.group);
  out->set_node(diagnosis.node);
  *out->mutable_at() = TimestampOf(diagnosis.at);
  for (const Finding& finding : diagnosis.findings) {
    v1::Finding* const added = out->add_findings();
    added->set_check(finding.check);
    added->set_severity(static_cast<v1::Finding::Severity>(static_cast<int>(finding.severity) + 1));
    added->set_what(finding.what);
    added->set_advice(finding.advice);
  }
}

Diagnosis FromProto(const v1::DiagnoseResponse& message) {
  Diagnosis out{.group = message.group(), .node = message.node(), .at = {}, .findings = {}};
  out.at = TimeOf(message.at());
  for (const v1::Finding& finding : message.findings()) {
    const bool known = finding.severity() >= v1::Finding::SEVERITY_OK &&
                       finding.severity() <= v1::Finding::SEVERITY_PROBLEM;
    out.findings.push_back(
        {.check = finding.check(),
         .severity = known ? static_cast<Severity>(static_cast<int>(finding.severity()) - 1)
                           : Severity::kProblem,
         .what = finding.what(),
         .advice = finding.advice()});
  }
  return out;
}

}  // namespace baton::runtime
