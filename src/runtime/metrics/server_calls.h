// ServerCalls: counts of the calls that a gRPC server serves, in the names that the dashboards and
// rules of etcd's mixin (and most others) expect. It knows nothing of gRPC: server_interceptor.h
// tells it.
//
// Thread-safe. The number of series has a bound: beyond kMaxMethods methods (a caller can make
// names up) all are counted as one, "other".
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
  static constexpr int kCodes = 17;  ///< gRPC's, OK to UNAUTHENTICATED

  explicit ServerCalls(std::string group) : group_(std::move(group)) {}

  /// Series exist from now on, so that rate() sees the first call. `type` is unary, client_stream,
  /// server_stream or bidi_stream; `path` is "/package.Service/Method".
  void Expect(std::string_view type, std::string_view path);
  void Started(std::string_view type, std::string_view path);
  /// `code` is what the server answered; one that gRPC doesn't know counts as UNKNOWN.
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
