#include "routing/client/request_ids.h"

#include <cstdio>
#include <random>

namespace baton::routing {
namespace {

std::string UniquePart() {
  std::random_device random;
  char unique[32];
  std::snprintf(unique, sizeof unique, "%08x%08x", random(), random());
  return unique;
}

}  // namespace

RequestIds::RequestIds(const std::string& client)
    : prefix_((client.empty() ? "" : client + "-") + UniquePart() + "-") {}

std::string RequestIds::Next() {
  return prefix_ + std::to_string(made_.fetch_add(1, std::memory_order_relaxed) + 1);
}

}  // namespace baton::routing
