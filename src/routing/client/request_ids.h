// RequestIds: makes the ids of one router's requests. They are unique across processes and
// restarts: each begins with 64 random bits. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace baton::routing {

class RequestIds {
 public:
  /// `client`: a prefix of each id; may be empty.
  explicit RequestIds(const std::string& client);
  std::string Next();

 private:
  const std::string prefix_;
  std::atomic<std::uint64_t> made_{0};
};

}  // namespace baton::routing
