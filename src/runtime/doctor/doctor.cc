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

void Doctor::SetEtcdCredentials(const EtcdCredentials& credentials) {
  const std::lock_guard lock(mutex_);
  options_.etcd.password = credentials.password;
  options_.etcd.ca_pem = credentials.ca_pem;
  options_.etcd.cert_pem = credentials.cert_pem;
  options_.etcd.key_pem = credentials.key_pem;
}

EtcdOptions Doctor::Etcd() {
  const std::lock_guard lock(mutex_);
  return options_.etcd;
}

Result<Diagnosis> Doctor::Look() {
  if (stopping_) return Error{ErrorCode::kUnavailable, "this node stops; ask another node"};
  const Picture picture = status_.Get();
  const EtcdOptions etcd = Etcd();
  Examination seen;
  if (picture.status != nullptr) seen.status = *picture.status;
  seen.answered = picture.fresh;
  seen.ttl_asked = options_.ttl_asked;
  seen.etcd_prefix = etcd.prefix;
  seen.authenticates = !etcd.user.empty() || !etcd.cert_pem.empty();
  seen.max_shard_series = options_.max_shard_series;
  try {
    seen.endpoints = CheckEtcd(etcd, options_.group);
  } catch (const std::system_error& error) {  // no thread could be started
    return Error{ErrorCode::kUnavailable, std::string("the host lacks threads: ") + error.what()};
  }
  seen.clock = LookAtClock();
  return Diagnosis{.group = options_.group,
                   .node = seen.status.node,
                   .at = std::chrono::system_clock::now(),
                   .findings = Judge(seen)};
}

}  // namespace baton::runtime
