#include "ledger.h"

#include <algorithm>

namespace kv {
namespace {

std::string Wrong(const char* what, std::int64_t got, std::int64_t least, std::int64_t most) {
  return std::string(what) + ": got " + std::to_string(got) + ", expected " +
         std::to_string(least) + " to " + std::to_string(most);
}

}  // namespace

// The value grows by one, and by one more for each failed increment that was carried out after all.
std::string Counter::Acknowledged(std::int64_t value) {
  const std::int64_t surplus = value - last_ - 1;
  if (surplus < 0 || surplus > unknown_) {
    return Wrong("increment", value, last_ + 1, last_ + 1 + unknown_);
  }
  last_ = value;
  unknown_ -= surplus;
  return {};
}

std::string Counter::Read(std::int64_t value) {
  const std::int64_t surplus = value - last_;
  if (surplus < 0 || surplus > unknown_) return Wrong("counter", value, last_, last_ + unknown_);
  last_ = value;
  unknown_ -= surplus;
  return {};
}

std::string Register::Read(std::optional<std::int64_t> number) const {
  const std::int64_t got = number.value_or(0);
  if (got == acknowledged_ || unknown_.contains(got)) return {};
  return "register: got " + std::to_string(got) + ", expected " + std::to_string(acknowledged_) +
         (unknown_.empty() ? "" : " or one of " + std::to_string(unknown_.size()) + " that failed");
}

}  // namespace kv
