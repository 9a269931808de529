#include "runtime/metrics/server_calls.h"

#include <algorithm>
#include <utility>

#include "runtime/metrics/families.h"

namespace baton::runtime {
namespace {

constexpr int kUnknown = 2;

// As Go's interceptors write them, because rules and dashboards expect that.
constexpr const char* kCodeNames[ServerCalls::kCodes] = {
    "OK",       "Canceled",       "Unknown",          "InvalidArgument",   "DeadlineExceeded",
    "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
    "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
    "DataLoss", "Unauthenticated"};

constexpr std::size_t kLongestLabel = 128;

// A path comes from outside: a label must be short, and readable for Prometheus.
bool FitsLabel(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_';
  };
  return text.size() <= kLongestLabel && std::all_of(text.begin(), text.end(), fits);
}

const prometheus::Histogram::BucketBoundaries kBounds = {0.001, 0.005, 0.01, 0.025, 0.05, 0.1,
                                                         0.25,  0.5,   1,    2.5,   5,    10};

}  // namespace

ServerCalls::Counts::Counts() : took(kBounds) {}

void ServerCalls::Expect(std::string_view type, std::string_view path) {
  const std::lock_guard lock(mutex_);
  Of(type, path);
}

void ServerCalls::Started(std::string_view type, std::string_view path) {
  const std::lock_guard lock(mutex_);
  ++Of(type, path).started;
}

void ServerCalls::Handled(std::string_view type, std::string_view path, int code,
                          std::chrono::nanoseconds took) {
  const std::lock_guard lock(mutex_);
  Counts& counts = Of(type, path);
  const int known = code >= 0 && code < kCodes ? code : kUnknown;
  ++counts.handled[static_cast<std::size_t>(known)];
  counts.took.Observe(std::chrono::duration<double>(took).count());
}

// `path`: "/package.Service/Method".
ServerCalls::Counts& ServerCalls::Of(std::string_view type, std::string_view path) {
  if (path.starts_with('/')) path.remove_prefix(1);
  const auto slash = path.rfind('/');
  const std::string_view service = slash == std::string_view::npos ? "" : path.substr(0, slash);
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  Method method(type, service, name);
  const auto found = methods_.find(method);
  if (found != methods_.end()) return found->second;
  if (methods_.size() >= kMaxMethods || !FitsLabel(service) || !FitsLabel(name)) {
    method = Method(type, "other", "other");
  }
  return methods_[std::move(method)];
}

std::vector<prometheus::MetricFamily> ServerCalls::Collect() const {
  const std::lock_guard lock(mutex_);
  const auto labels = [](const Method& method) {
    return Labels{{"grpc_type", std::get<0>(method)},
                  {"grpc_service", std::get<1>(method)},
                  {"grpc_method", std::get<2>(method)}};
  };
  FamilyBuilder out(group_);
  out.Counter("grpc_server_started_total", "Calls that this gRPC server began to serve.");
  for (const auto& [method, counts] : methods_) {
    out.Add(static_cast<double>(counts.started), labels(method));
  }
  out.Counter("grpc_server_handled_total", "Calls that this gRPC server answered, by status code.");
  for (const auto& [method, counts] : methods_) {
    for (std::size_t code = 0; code < kCodes; ++code) {
      if (counts.handled[code] == 0 && code != 0) continue;
      Labels all = labels(method);
      all.push_back({"grpc_code", kCodeNames[code]});
      out.Add(static_cast<double>(counts.handled[code]), std::move(all));
    }
  }
  out.Histogram("grpc_server_handling_seconds",
                "How long calls took until they were answered; streams: until they ended.");
  for (const auto& [method, counts] : methods_) {
    prometheus::ClientMetric series = counts.took.Collect();
    series.label = labels(method);
    out.Add(std::move(series));
  }
  return out.Take();
}

}  // namespace baton::runtime
