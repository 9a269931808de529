#include "http/body_budget.h"

namespace baton::http {

BodyBudget::Body BodyBudget::Hold(const Body& body) {
  if (body->size() < kSmall) return body;
  std::erase_if(held_, [](const auto& entry) { return entry.second.expired(); });
  if (const auto found = held_.find(body.get()); found != held_.end()) {
    if (Body held = found->second.lock()) return held;
  }
  if (*bytes_ >= most_) return nullptr;
  *bytes_ += body->size();
  // The entry in held_ keeps this function alive, so it lets the body go itself.
  Body held(body.get(), [kept = Body(body), left = bytes_](const std::string*) mutable {
    *left -= kept->size();
    kept.reset();
  });
  held_[body.get()] = held;
  return held;
}

}  // namespace baton::http
