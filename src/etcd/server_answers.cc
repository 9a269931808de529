#include "etcd/server_answers.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "etcd/records.h"

namespace baton::etcd {
namespace {

/// Takes the number at the front of `rest` off it.
std::optional<unsigned> TakeNumber(std::string_view* rest) {
  unsigned number = 0;
  const auto [end, error] = std::from_chars(rest->data(), rest->data() + rest->size(), number);
  if (error != std::errc()) return std::nullopt;
  rest->remove_prefix(static_cast<std::size_t>(end - rest->data()));
  return number;
}

bool TakeDot(std::string_view* rest) {
  if (rest->empty() || rest->front() != '.') return false;
  rest->remove_prefix(1);
  return true;
}

}  // namespace

bool HasKnownFaults(std::string_view version) {
  const auto major = TakeNumber(&version);
  if (!major || !TakeDot(&version)) return false;
  const auto minor = TakeNumber(&version);
  if (!minor || !TakeDot(&version)) return false;
  const auto patch = TakeNumber(&version);  // "-rc.1" may follow
  if (!patch) return false;
  if (*major != 3) return *major < 3;
  if (*minor < 5) return true;
  return (*minor == 5 && *patch < 28) || (*minor == 6 && *patch < 9);
}

std::chrono::seconds TtlOf(std::int64_t answered) {
  return std::clamp(std::chrono::seconds(answered), std::chrono::seconds(0),
                    std::chrono::seconds(kLongestTtl));
}

Grant GrantOf(const Reply<etcdserverpb::LeaseGrantResponse>& reply, std::chrono::seconds asked) {
  const CallStatus& status = reply.status;
  if (status.outcome == Outcome::kRefused &&
      status.message.find("lease already exists") != std::string::npos) {
    return {Outcome::kDone, asked, {}};
  }
  if (!status.ok()) return {status.outcome, {}, status.message};
  const std::chrono::seconds ttl = TtlOf(reply.response.ttl());
  if (ttl.count() > 0) return {Outcome::kDone, ttl, {}};
  return {
      Outcome::kRefused,
      {},
      fmt::format(
          "etcd granted a lease of {} s; expected {} s or more: check that the endpoint is an etcd",
          reply.response.ttl(), asked.count())};
}

}  // namespace baton::etcd
