#include "runtime/guard/guard_settings.h"

#include <boost/json.hpp>

namespace baton::runtime {
namespace {

namespace json = boost::json;

std::string TextOf(const json::object& object, const char* name) {
  return std::string(object.at(name).as_string());
}

}  // namespace

std::string Format(const GuardSettings& settings) {
  const EtcdOptions& etcd = settings.etcd;
  json::array endpoints;
  for (const std::string& endpoint : etcd.endpoints) endpoints.emplace_back(endpoint);
  const json::object line{{"group", settings.group},
                          {"node", settings.node},
                          {"state_dir", settings.state_dir},
                          {"trust_state_lock", settings.trust == LockTrust::kAnyFileSystem},
                          {"etcd", std::move(endpoints)},
                          {"etcd_prefix", etcd.prefix},
                          {"etcd_user", etcd.user},
                          {"etcd_password", etcd.password},
                          {"etcd_ca", etcd.ca_pem},
                          {"etcd_cert", etcd.cert_pem},
                          {"etcd_key", etcd.key_pem},
                          {"hang_timeout_ms", settings.hang_timeout.count()},
                          {"process", settings.process}};
  return json::serialize(line) + "\n";
}

Result<GuardSettings> ParseGuardSettings(std::string_view line) {
  // The library reports each mistake as an exception.
  try {
    const json::value parsed = json::parse(json::string_view(line.data(), line.size()));
    const json::object& object = parsed.as_object();
    GuardSettings settings{.group = TextOf(object, "group"),
                           .node = TextOf(object, "node"),
                           .state_dir = TextOf(object, "state_dir")};
    if (object.at("trust_state_lock").as_bool()) settings.trust = LockTrust::kAnyFileSystem;
    EtcdOptions& etcd = settings.etcd;
    etcd.endpoints.clear();
    for (const json::value& endpoint : object.at("etcd").as_array()) {
      etcd.endpoints.emplace_back(endpoint.as_string());
    }
    etcd.prefix = TextOf(object, "etcd_prefix");
    etcd.user = TextOf(object, "etcd_user");
    etcd.password = TextOf(object, "etcd_password");
    etcd.ca_pem = TextOf(object, "etcd_ca");
    etcd.cert_pem = TextOf(object, "etcd_cert");
    etcd.key_pem = TextOf(object, "etcd_key");
    // A node of an earlier version does not say these.
    if (const json::value* timeout = object.if_contains("hang_timeout_ms")) {
      settings.hang_timeout = std::chrono::milliseconds(timeout->as_int64());
    }
    if (const json::value* process = object.if_contains("process")) {
      settings.process = process->as_int64();
    }
    return settings;
  } catch (const std::exception&) {
    return Error{ErrorCode::kInvalidArgument,
                 "the line on stdin is not what a node writes to its guard"};
  }
}

}  // namespace baton::runtime
