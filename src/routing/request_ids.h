// RequestIds: the ids of one router's requests. Two processes, and two runs of one, never make the
// same.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace baton::routing {

class RequestIds {
 public:
  /// `client` begins each id; may be empty.
  explicit RequestIds(const std::string& client);
  std::string Next();

 private:
  const std::string prefix_;
  std::atomic<std::uint64_t> made_{0};
};

}  // namespace baton::routing
