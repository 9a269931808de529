// Answers that versions of etcd give in different ways.
#include <array>
#include <cstdio>

#include "sim/etcd_model.h"

namespace baton::sim {
namespace {

constexpr int kNever = 1'000'000;  // in that line

}  // namespace

Dialect DialectOf(const std::string& version) {
  int major = 0;
  int minor = 0;
  int patch = 0;
  std::sscanf(version.c_str(), "%d.%d.%d", &major, &minor, &patch);
  // Whether the version has what came with these patches of 3.4, 3.5, 3.6 and 3.7.
  const auto has = [major, minor, patch](std::array<int, 4> since) {
    if (major != 3 || minor < 4 || minor > 7) return major * 10 + minor > 37;
    return patch >= since[static_cast<std::size_t>(minor - 4)];
  };
  return {.progress_while_behind = !has({25, 8, 0, 0}),
          .progress_before_start = !has({kNever, 23, 4, 0}),
          .keys_only_tells_leases = !has({kNever, kNever, kNever, 0}),
          .checks_in_order = has({kNever, kNever, 0, 0}),
          .nested_puts_need_space = has({kNever, 33, 14, 1})};
}

void EtcdModel::TeachStore() {
  store_.TellLeasesOfKeysOnly(options_.dialect.keys_only_tells_leases);
  store_.CheckInOrder(options_.dialect.checks_in_order);
}

}  // namespace baton::sim
