// RequestIds: makes the ids of one router's requests. An id consists of the client's name, 64
// random bits of this object, and a counter. So ids are unique across processes and restarts.
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace baton::routing {

class RequestIds {
 public:
  /// `client`: the first part of each id; empty: ids have no such part. REQUIRES (not checked):
  /// `client` is visible ASCII, and so short that ids have at most kLongestRequestId bytes. The
  /// other parts have up to 38 bytes.
  explicit RequestIds(const std::string& client);
  /// Returns a new id with each call.
  std::string Next();

 private:
  const std::string prefix_;
  std::atomic<std::uint64_t> made_{0};
};

}  // namespace baton::routing
