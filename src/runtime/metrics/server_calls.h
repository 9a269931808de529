// ServerCalls: counts the calls that a gRPC server serves. The series have the names that the
// dashboards and rules of etcd's mixin (and most others) use. This class does not depend on gRPC:
// server_interceptor.h reports the calls.
//
// Thread-safe. The number of series is bounded, because a caller can invent method names. Methods
// after the first kMaxMethods are counted with the service and the method "other". So are names
// with characters that are not letters (a to z, A to Z), digits, "." or "_", and names with more
// than 128 characters.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <prometheus/collectable.h>
#include <prometheus/histogram.h>
#include <prometheus/metric_family.h>

namespace baton::runtime {

class ServerCalls : public prometheus::Collectable {
 public:
  static constexpr std::size_t kMaxMethods = 64;
  static constexpr int kCodes = 17;  ///< gRPC's codes, from OK to UNAUTHENTICATED

  explicit ServerCalls(std::string group) : group_(std::move(group)) {}

  // In all three, `type` is "unary", "client_stream", "server_stream" or "bidi_stream"; it is not
  // checked. `path` is "/package.Service/Method".
  /// Creates the method's series now, so that rate() sees the first call. The method counts as one
  /// of the kMaxMethods.
  void Expect(std::string_view type, std::string_view path);
  /// The server begins to serve a call.
  void Started(std::string_view type, std::string_view path);
  /// The server answered the call with gRPC's `code`, `took` after it began to serve the call. A
  /// code that gRPC doesn't have counts as UNKNOWN.
  void Handled(std::string_view type, std::string_view path, int code,
               std::chrono::nanoseconds took);

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  using Method = std::tuple<std::string, std::string, std::string>;  // type, service, method
  struct Counts {
    Counts();
    std::uint64_t started = 0;
    std::array<std::uint64_t, kCodes> handled{};
    prometheus::Histogram took;
  };
  Counts& Of(std::string_view type, std::string_view path);

  const std::string group_;
  mutable std::mutex mutex_;
  std::map<Method, Counts> methods_;
};

}  // namespace baton::runtime
