#include "fuzz/daemon_words.h"

#include <algorithm>
#include <map>
#include <optional>

#include "app/daemon/daemon_options.h"
#include "etcd/keyspace.h"
#include "fuzz/target.h"
#include "runtime/node_options.h"

namespace baton::fuzz {
namespace {

const app::Surroundings& Surroundings() {
  static const app::Surroundings fixed = {
      .environment = [](const std::string& name) -> std::optional<std::string> {
        if (name == "HOME") return "/nonexistent";
        return std::nullopt;
      },
      .host_name = "host"};
  return fixed;
}

void JudgeExit(const app::EarlyExit& exit) {
  Must(exit.text.ends_with('\n'), "what is said ends with a line", exit.text);
  if (exit.code == 0) return;
  Must(exit.code == 2, "a usage error exits with 2", std::to_string(exit.code));
  std::string_view rest = exit.text;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    MustBeOneLine(line);
    Must(line.starts_with("batond: "), "each line of an error begins with the program", line);
    rest.remove_prefix(end + 1);
  }
}

void JudgeOptions(const app::DaemonOptions& options) {
  const Status keys = etcd::Keyspace::Validate(options.node.etcd.prefix, options.node.group);
  Must(keys.ok(), "group and prefix make keys", keys.ok() ? "" : keys.error().message);
  Must(!options.node.etcd.endpoints.empty(), "there is an etcd to go to");
  if (options.relay) return;
  NodeOptions node = options.node;
  const app::Advertised advertised = app::AdvertisedBy(options, 7400, 7401);
  node.address = advertised.grpc;
  node.http_address = advertised.http;
  node.service_address = advertised.service;
  const Status checked = runtime::Check(node);
  Must(checked.ok(), "what batond takes the library takes",
       checked.ok() ? "" : checked.error().message);
}

}  // namespace

bool NamesDevices(std::string_view text) {
  for (const std::string_view folder : {"/dev", "/proc", "/sys", "/run"}) {
    if (text.find(folder) != std::string_view::npos) return true;
  }
  return false;
}

void ParseAndJudge(std::vector<std::string> arguments) {
  const auto parsed = app::ParseDaemonOptions(std::move(arguments), Surroundings());
  if (const auto* exit = std::get_if<app::EarlyExit>(&parsed)) return JudgeExit(*exit);
  JudgeOptions(std::get<app::DaemonOptions>(parsed));
}

}  // namespace baton::fuzz
