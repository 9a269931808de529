// ServerCalls: counts the calls that a gRPC server serves. The series have the names that the
// dashboards and rules of etcd's mixin expect; most other dashboards expect the same names. The
// interceptors of server_interceptor.h report the calls.
//
// Thread-safe. The number of series is bounded, because a caller can invent method names. In these
// cases a call is counted with the service "other" and the method "other":
//  - The method is new, and kMaxMethods methods are counted already.
//  - The name of the service or method has a character that is not a letter (a to z, A to Z), a
//    digit, "." or "_".
//  - The name of the service or method has more than 128 characters.
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
  /// The most methods that have series of their own. A method that is called with two types counts
  /// twice. The method "other" counts, too.
  static constexpr std::size_t kMaxMethods = 64;
  static constexpr int kCodes = 17;  ///< gRPC's codes, from OK to UNAUTHENTICATED

  explicit ServerCalls(std::string group) : group_(std::move(group)) {}

  // In the next three functions, `type` is "unary", "client_stream", "server_stream" or
  // "bidi_stream" (not checked), and `path` is "/package.Service/Method".
  /// Creates the method's series now, so that rate() sees the first call. The series of a code
  /// other than OK begins with the first call that has the code. The method counts towards
  /// kMaxMethods.
  void Expect(std::string_view type, std::string_view path);
  /// Call it when the server begins to serve a call.
  void Started(std::string_view type, std::string_view path);
  /// Call it when the server has answered a call with gRPC's `code`. `took`: the time since the
  /// server began to serve the call. A `code` that gRPC doesn't have counts as UNKNOWN.
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
