#include "app/daemon/readiness.h"

#include <fmt/format.h>

#include <utility>

#include "base/log.h"

namespace baton::app {

Readiness::Readiness(std::string ready_file) : file_(std::move(ready_file)) {}

void Readiness::Serve(std::vector<grpc::HealthCheckServiceInterface*> health,
                      ReadyContent content) {
  health_ = std::move(health);
  content_ = std::move(content);
  manager_knows_ = false;
}

void Readiness::Look(const runtime::Control& control, TimePoint now) {
  if (control.Alive()) manager_.Alive(now);
  const bool ready = control.Ready();
  if (ready != serving_) {
    serving_ = ready;
    SetHealth(ready);
    log::Info(ready ? "ready" : "not ready");
    manager_knows_ = false;
    if (ready && !std::exchange(was_ready_, true)) {
      const Status written = file_.Write(content_);
      if (!written) log::Error(written.error().message);
    }
  }
  TellManager();
}

void Readiness::SetHealth(bool serving) {
  for (auto* const health : health_) health->SetServingStatus(serving);
}

// Its start is over once the node was ready; later it is only told in words, as no restart helps a
// node that isn't ready.
void Readiness::TellManager() {
  if (manager_knows_) return;
  const std::string where = fmt::format("gRPC {}, HTTP {}", content_.grpc, content_.http);
  manager_knows_ = manager_.Say(
      fmt::format("{}STATUS={}: {}\n", was_ready_ ? "READY=1\n" : "",
                  serving_ ? "ready" : "not ready, see /readyz and batonctl doctor", where));
}

void Readiness::Leave(std::chrono::milliseconds within) {
  file_.Remove();
  SetHealth(false);
  const std::chrono::microseconds bound = within;
  manager_.Say(fmt::format("STOPPING=1\nSTATUS=leaving\nEXTEND_TIMEOUT_USEC={}\n", bound.count()));
}

}  // namespace baton::app
