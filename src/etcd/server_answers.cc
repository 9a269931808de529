#include "etcd/server_answers.h"

#include <algorithm>

#include <fmt/format.h>

#include "etcd/records.h"

namespace baton::etcd {

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
