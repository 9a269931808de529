#include "runtime/doctor/doctor.h"

#include <sys/timex.h>

#include <string>
#include <system_error>
#include <utility>

#include "runtime/doctor/etcd_checkup.h"
#include "runtime/doctor/judgement.h"

namespace baton::runtime {
namespace {

ClockCheckup LookAtClock() {
  timex kernel{};
  const int state = adjtimex(&kernel);
  if (state < 0) return {};
  return {.told = true,
          .synchronised = state != TIME_ERROR && (kernel.status & STA_UNSYNC) == 0,
          .estimated_error = std::chrono::microseconds(kernel.esterror)};
}

}  // namespace

Doctor::Doctor(Control& control, DoctorOptions options)
    : options_(std::move(options)), status_(control), worker_(kMaxWaiting) {}

void Doctor::Examine(std::function<void(Result<Diagnosis>)> handler) {
  const auto shared = std::make_shared<std::function<void(Result<Diagnosis>)>>(std::move(handler));
  if (worker_.Post([this, shared] { (*shared)(Look()); })) return;
  (*shared)(Error{ErrorCode::kUnavailable, "too many examinations at once: try again in a moment"});
}

Result<Diagnosis> Doctor::Look() {
  if (stopping_) return Error{ErrorCode::kUnavailable, "this node stops; ask another node"};
  const Picture picture = status_.Get();
  Examination seen;
  if (picture.status != nullptr) seen.status = *picture.status;
  seen.answered = picture.fresh;
  seen.ttl_asked = options_.ttl_asked;
  seen.etcd_prefix = options_.etcd.prefix;
  seen.authenticates = !options_.etcd.user.empty() || !options_.etcd.cert_pem.empty();
  seen.max_shard_series = options_.max_shard_series;
  try {
    seen.endpoints = CheckEtcd(options_.etcd, options_.group);
  } catch (const std::system_error& error) {  // a thread for it
    return Error{ErrorCode::kUnavailable, std::string("the host lacks threads: ") + error.what()};
  }
  seen.clock = LookAtClock();
  return Diagnosis{.group = options_.group,
                   .node = seen.status.node,
                   .at = std::chrono::system_clock::now(),
                   .findings = Judge(seen)};
}

}  // namespace baton::runtime
