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

Error NoThreads(const std::system_error& error) {
  return {ErrorCode::kUnavailable, std::string("the host lacks threads: ") + error.what()};
}

}  // namespace

Doctor::Doctor(Control& control, DoctorOptions options)
    : control_(control), options_(std::move(options)), status_(control) {}

void Doctor::Examine(ExamineRequest request, std::function<void(Result<Diagnosis>)> handler) {
  const auto shared = std::make_shared<std::function<void(Result<Diagnosis>)>>(std::move(handler));
  try {
    if (Post([this, request, shared] { (*shared)(Look(request)); })) return;
  } catch (const std::system_error& error) {  // a thread for it
    return (*shared)(NoThreads(error));
  }
  (*shared)(Error{ErrorCode::kUnavailable, "too many examinations at once: try again in a moment"});
}

bool Doctor::Post(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  if (!worker_) worker_.emplace(kMaxWaiting);
  return worker_->Post(std::move(task));
}

void Doctor::SetEtcdCredentials(const EtcdCredentials& credentials) {
  const std::lock_guard lock(mutex_);
  options_.etcd = Renewed(std::move(options_.etcd), credentials);
}

EtcdOptions Doctor::Etcd() {
  const std::lock_guard lock(mutex_);
  return options_.etcd;
}

Result<Diagnosis> Doctor::Look(const ExamineRequest& request) {
  if (stopping_) return Error{ErrorCode::kUnavailable, "this node stops; ask another node"};
  const LatestStatus latest = status_.Get();
  const EtcdOptions etcd = Etcd();
  Examination seen;
  if (latest.status != nullptr) seen.status = *latest.status;
  seen.status.group = options_.group;
  seen.status.node = options_.node;
  seen.known = latest.status != nullptr;
  seen.answered = latest.fresh;
  seen.ttl_asked = options_.ttl_asked;
  seen.guard = control_.Guard();
  seen.etcd_prefix = etcd.prefix;
  seen.authenticates = !etcd.user.empty() || !etcd.cert_pem.empty();
  seen.max_shard_series = request.max_shard_series;
  seen.exposed = request.exposed;
  try {
    seen.endpoints = CheckEtcd(etcd, options_.group);
    seen.endpoints_left_out = etcd.endpoints.size() - seen.endpoints.size();
  } catch (const std::system_error& error) {  // no thread could be started
    return NoThreads(error);
  }
  seen.clock = LookAtClock();
  seen.secrets = CheckSecrets(etcd, request.files, std::chrono::system_clock::now(),
                              request.tls != nullptr ? request.tls->Get()->texts.cert : "");
  return Diagnosis{.group = options_.group,
                   .node = options_.node,
                   .at = std::chrono::system_clock::now(),
                   .findings = Judge(seen)};
}

}  // namespace baton::runtime
