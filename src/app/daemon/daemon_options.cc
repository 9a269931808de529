#include "app/daemon/daemon_options.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include "app/common/config_file.h"
#include "app/common/duration.h"
#include "app/common/flag_table.h"
#include "base/endpoint.h"
#include "base/text_rules.h"

namespace baton::app {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMaxEndpoints = 64;
constexpr milliseconds kMaxTtl = std::chrono::hours(1);
constexpr milliseconds kMaxBound = std::chrono::hours(24);

bool IsPrintable(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](unsigned char c) { return c <= ' ' || c == 0x7F; });
}

struct Range {
  std::uint32_t least;
  std::uint32_t most;
};

/// Turns settings into values. Notes each error as one line, and goes on.
class Reader {
 public:
  explicit Reader(const Settings& settings) : settings_(settings) {}

  std::vector<std::string> TakeErrors() { return std::move(errors_); }

  /// Null: the setting is absent.
  const Setting* Find(const std::string& name) const {
    const auto found = settings_.find(name);
    return found == settings_.end() ? nullptr : &found->second;
  }
  void Wrong(const std::string& origin, const std::string& what) {
    errors_.push_back(origin + ": " + what);
  }

  std::string Text(const std::string& name) {
    const Setting* const setting = Find(name);
    if (setting == nullptr) return "";
    if (setting->text.empty()) Wrong(setting->origin, "it is empty; give a value or leave it out");
    return setting->text;
  }

  std::string Name(const std::string& name) {
    const Setting* const setting = Find(name);
    if (setting == nullptr) return "";
    if (!IsName(setting->text)) {
      Wrong(setting->origin, "\"" + setting->text + "\" is not a name; expected " + kNameRule);
    }
    return setting->text;
  }

  std::uint32_t Number(const std::string& name, Range range) {
    const Setting* const setting = Find(name);
    if (setting == nullptr) return 0;
    std::uint32_t number = 0;
    const char* const end = setting->text.data() + setting->text.size();
    const auto [stop, failed] = std::from_chars(setting->text.data(), end, number);
    if (failed != std::errc() || stop != end || number < range.least || number > range.most) {
      Wrong(setting->origin, "\"" + setting->text +
                                 "\" is not valid; expected a whole number from " +
                                 std::to_string(range.least) + " to " + std::to_string(range.most));
    }
    return number;
  }

  milliseconds Duration(const std::string& name, milliseconds least, milliseconds most) {
    const Setting* const setting = Find(name);
    if (setting == nullptr) return least;
    const Result<milliseconds> parsed = ParseDuration(setting->text);
    if (!parsed) {
      Wrong(setting->origin, parsed.error().message);
      return least;
    }
    if (parsed.value() < least || parsed.value() > most) {
      Wrong(setting->origin, "\"" + setting->text + "\" is out of range; expected from " +
                                 FormatDuration(least) + " to " + FormatDuration(most));
    }
    return parsed.value();
  }

  bool Switch(const std::string& name) {
    const Setting* const setting = Find(name);
    if (setting == nullptr) return false;
    for (const char* word : {"true", "yes", "on", "1"}) {
      if (setting->text == word) return true;
    }
    for (const char* word : {"false", "no", "off", "0"}) {
      if (setting->text == word) return false;
    }
    Wrong(setting->origin, "\"" + setting->text + "\" is not a switch; expected true or false");
    return false;
  }

  http::Address Address(const std::string& name) {
    const Setting* const setting = Find(name);
    if (setting == nullptr) return {};
    Result<http::Address> parsed = http::ParseAddress(setting->text);
    if (parsed) return parsed.value();
    Wrong(setting->origin, parsed.error().message);
    return {};
  }

  std::string File(const std::string& name) {
    const Setting* const setting = Find(name);
    if (setting == nullptr) return "";
    Result<std::string> content = ReadSmallFile(setting->text);
    if (content) return std::move(content).value();
    Wrong(setting->origin, content.error().message);
    return "";
  }

  std::string PemFile(const std::string& name) {
    const std::size_t errors = errors_.size();
    std::string content = File(name);
    const Setting* const setting = Find(name);
    if (setting != nullptr && errors == errors_.size() &&
        content.find("-----BEGIN ") == std::string::npos) {
      Wrong(setting->origin, setting->text + " holds no PEM; expected -----BEGIN ...");
    }
    return content;
  }

 private:
  const Settings& settings_;
  std::vector<std::string> errors_;
};

std::vector<std::string> SplitCommas(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t comma = text.find(',');
    std::string_view part = text.substr(0, comma);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    parts.emplace_back(part);
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

void ReadEndpoints(Reader& reader, EtcdOptions& etcd) {
  const Setting& setting = *reader.Find("etcd");
  etcd.endpoints = SplitCommas(setting.text);
  std::set<std::string> seen;
  for (const std::string& endpoint : etcd.endpoints) {
    if (const Status checked = CheckEndpoint(endpoint, kEtcdPort); !checked) {
      const bool tls = endpoint.starts_with("https://");
      reader.Wrong(setting.origin,
                   checked.error().message + (tls ? " (--etcd-ca turns TLS on)" : ""));
    } else if (!seen.insert(endpoint).second) {
      reader.Wrong(setting.origin, "\"" + endpoint + "\" is there twice; keep one");
    }
  }
  if (etcd.endpoints.size() > kMaxEndpoints) {
    reader.Wrong(setting.origin, "too many endpoints; expected at most 64");
  }
}

void ReadPrefix(Reader& reader, EtcdOptions& etcd) {
  const Setting& setting = *reader.Find("etcd-prefix");
  etcd.prefix = setting.text;
  const bool fits = setting.text.size() >= 2 && setting.text.size() <= 512 &&
                    setting.text.front() == '/' && setting.text.back() != '/' &&
                    IsPrintable(setting.text);
  if (!fits) {
    reader.Wrong(setting.origin,
                 "\"" + setting.text +
                     "\" is not a prefix; expected a path such as /baton/v1, without "
                     "a slash at its end");
  }
}

void ReadCredentials(Reader& reader, EtcdOptions& etcd) {
  const Setting* const user = reader.Find("etcd-user");
  const Setting* const password = reader.Find("etcd-password-file");
  etcd.user = reader.Text("etcd-user");
  etcd.password = PasswordIn(reader.File("etcd-password-file"));
  if (user != nullptr && password == nullptr) {
    reader.Wrong(user->origin, "a user needs a password; give --etcd-password-file too");
  }
  if (password != nullptr && user == nullptr) {
    reader.Wrong(password->origin, "a password needs its user; give --etcd-user too");
  }
  if (password != nullptr && user != nullptr && etcd.password.empty()) {
    reader.Wrong(password->origin, password->text + " holds no password; expected one line");
  }
}

void ReadTls(Reader& reader, EtcdOptions& etcd) {
  etcd.ca_pem = reader.PemFile("etcd-ca");
  etcd.cert_pem = reader.PemFile("etcd-cert");
  etcd.key_pem = reader.PemFile("etcd-key");
  const Setting* const cert = reader.Find("etcd-cert");
  const Setting* const key = reader.Find("etcd-key");
  if (cert != nullptr && key == nullptr) {
    reader.Wrong(cert->origin, "a certificate needs its key; give --etcd-key too");
  }
  if (key != nullptr && cert == nullptr) {
    reader.Wrong(key->origin, "a key needs its certificate; give --etcd-cert too");
  }
}

void ReadEtcd(Reader& reader, EtcdOptions& etcd) {
  ReadEndpoints(reader, etcd);
  ReadPrefix(reader, etcd);
  ReadCredentials(reader, etcd);
  ReadTls(reader, etcd);
}

CredentialPaths PathsOf(const Reader& reader) {
  const auto path = [&reader](const char* name) {
    const Setting* const setting = reader.Find(name);
    return setting == nullptr ? std::string() : setting->text;
  };
  return {.password = path("etcd-password-file"),
          .ca = path("etcd-ca"),
          .cert = path("etcd-cert"),
          .key = path("etcd-key")};
}

void ReadHash(Reader& reader, NodeOptions& node) {
  const Setting& setting = *reader.Find("hash");
  for (const HashFunction hash :
       {HashFunction::kMurmur2, HashFunction::kXxh3Jump, HashFunction::kModulo}) {
    if (setting.text != ToString(hash)) continue;
    node.hash = hash;
    return;
  }
  reader.Wrong(
      setting.origin,
      "\"" + setting.text + "\" is not a hash function; expected murmur2, xxh3-jump or modulo");
}

void ReadIdentity(Reader& reader, const Surroundings& surroundings, DaemonOptions& options) {
  NodeOptions& node = options.node;
  const bool relay = options.relay;
  node.group = reader.Name("group");
  if (!relay) node.shards = reader.Number("shards", {1, 1'000'000});
  for (const char* name : {"group", "shards"}) {
    if (reader.Find(name) != nullptr || (relay && name == std::string_view("shards"))) continue;
    reader.Wrong(std::string("--") + name,
                 "it is missing; give the same on all nodes of the group");
  }
  node.node = reader.Name("node");
  if (reader.Find("node") != nullptr) return;
  // A relay needs another name than the node of the same host.
  node.node = surroundings.host_name + (relay ? "-relay" : "");
  if (!IsName(node.node)) {
    reader.Wrong("--node",
                 "the host name \"" + node.node + "\" can't be this node's id; give a name");
  }
}

/// The default state directory is below $XDG_STATE_HOME, if that is absolute, or ~/.local/state.
void ReadStateDir(Reader& reader, const Surroundings& surroundings, NodeOptions& node) {
  node.state_dir = reader.Text("state-dir");
  if (reader.Find("state-dir") != nullptr) return;
  std::string base = surroundings.environment("XDG_STATE_HOME").value_or("");
  if (!base.starts_with('/')) {
    base = surroundings.environment("HOME").value_or("");
    if (!base.starts_with('/')) {
      return reader.Wrong("--state-dir", "neither XDG_STATE_HOME nor HOME is set; give a folder");
    }
    base += "/.local/state";
  }
  node.state_dir = base + "/baton/" + node.group + "/" + node.node;
}

void ReadTimes(Reader& reader, NodeOptions& node) {
  const milliseconds ttl = reader.Duration("ttl", std::chrono::seconds(1), kMaxTtl);
  node.ttl = std::chrono::duration_cast<std::chrono::seconds>(ttl);
  if (ttl != node.ttl) {
    const Setting& setting = *reader.Find("ttl");
    reader.Wrong(setting.origin,
                 "\"" + setting.text +
                     "\" is not a lease time; expected whole seconds, as etcd grants them");
  }
  node.settle = reader.Duration("settle", milliseconds(0), kMaxBound);
  node.rebalance_delay = reader.Duration("rebalance-delay", milliseconds(0), kMaxBound);
  node.cooldown = reader.Duration("cooldown", milliseconds(0), kMaxBound);
  node.prepare_timeout = reader.Duration("prepare-timeout", milliseconds(1), kMaxBound);
  node.release_timeout = reader.Duration("release-timeout", milliseconds(1), kMaxBound);
  node.callback_timeout = reader.Duration("callback-timeout", milliseconds(1), kMaxBound);
  node.drain_timeout = reader.Duration("drain-timeout", milliseconds(1), kMaxBound);
}

void ReadShare(Reader& reader, NodeOptions& node) {
  node.weight = reader.Number("weight", {0, 1'000'000});
  node.expect_nodes = reader.Number("expect-nodes", {1, 10'000});
  node.max_moves = reader.Number("max-moves", {1, 100'000});
  node.zone = reader.Find("zone") == nullptr ? "" : reader.Name("zone");
}

/// Reads HOST or HOST:PORT.
void ReadAdvertise(Reader& reader, DaemonOptions& options) {
  const Setting* const setting = reader.Find("advertise");
  if (setting == nullptr) return;
  Result<http::Address> parsed = http::ParseAddress(setting->text);
  if (!parsed) parsed = http::ParseAddress(setting->text + ":0");
  if (!parsed || http::IsWildcard(parsed.value())) {
    return reader.Wrong(setting->origin, "\"" + setting->text +
                                             "\" can't be connected to; expected this node's host "
                                             "or host:port, as others reach it");
  }
  options.advertise = parsed.value();
}

void ReadAddresses(Reader& reader, DaemonOptions& options) {
  options.listen = reader.Address("listen");
  options.http = reader.Address("http");
  const bool same = options.listen.port != 0 && options.listen.port == options.http.port &&
                    options.listen.host == options.http.host;
  if (same) reader.Wrong("--http", "it is the same address as --listen; give another port");
  if (options.relay) return;  // it tells nobody its addresses
  ReadAdvertise(reader, options);
  for (const auto& [name, address] :
       {std::pair("listen", &options.listen), std::pair("http", &options.http)}) {
    if (!http::IsWildcard(*address) || reader.Find("advertise") != nullptr) continue;
    const Setting& setting = *reader.Find(name);
    reader.Wrong(setting.origin, "\"" + setting.text +
                                     "\" is a wildcard, which others can't connect to; give "
                                     "--advertise with this node's host");
  }
  options.service_address = reader.Text("service-address");
  if (options.service_address.size() > kLongestAddress ||
      !IsVisibleAscii(options.service_address)) {
    reader.Wrong(reader.Find("service-address")->origin,
                 "it is not an address; expected at most 512 visible ASCII characters");
  }
}

/// With a program to run there is always a sidecar; by default its socket is in the state
/// directory.
void ReadSidecar(Reader& reader, DaemonOptions& options) {
  const Setting* const setting = reader.Find("sidecar");
  if (setting == nullptr && options.command.empty()) return;
  const std::string beside =
      "unix:" + std::filesystem::absolute(options.node.state_dir).string() + "/sidecar.sock";
  const auto parsed = sidecar::ParseAddress(setting != nullptr ? setting->text : beside);
  if (parsed) {
    options.sidecar = parsed.value();
  } else if (setting != nullptr) {
    reader.Wrong(setting->origin, parsed.error().message);
  } else {
    reader.Wrong("--sidecar",
                 "the default can't be used: " + parsed.error().message + "; give another");
  }
}

/// Takes the program off the arguments of `run [flags] -- PROGRAM...`.
Result<std::vector<std::string>> TakeCommand(std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front() != "run") return std::vector<std::string>{};
  arguments.erase(arguments.begin());
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  std::vector<std::string> command(dashes == arguments.end() ? dashes : dashes + 1,
                                   arguments.end());
  const bool help = std::find(arguments.begin(), dashes, "--help") != dashes;
  if (command.empty() && !help) {
    return Error{ErrorCode::kInvalidArgument,
                 "run: no program; expected batond run [flags] -- PROGRAM [its arguments]"};
  }
  arguments.erase(dashes, arguments.end());
  return command;
}

/// Refuses the settings that a relay doesn't use: it has no session, leads nothing, and reads the
/// group's shape from etcd.
void RefuseForRelay(Reader& reader, const DaemonOptions& options) {
  if (!options.command.empty()) {
    reader.Wrong("run", "a relay leads nothing on which a program could act; leave --relay out");
  }
  for (const char* name : {"shards",
                           "hash",
                           "sidecar",
                           "state-dir",
                           "advertise",
                           "service-address",
                           "ttl",
                           "weight",
                           "zone",
                           "expect-nodes",
                           "settle",
                           "rebalance-delay",
                           "max-moves",
                           "cooldown",
                           "prepare-timeout",
                           "release-timeout",
                           "callback-timeout",
                           "drain-timeout",
                           "max-shard-series",
                           "allow-remote-admin"}) {
    const Setting* const setting = reader.Find(name);
    if (setting == nullptr || !setting->given) continue;
    reader.Wrong(setting->origin,
                 "a relay leads nothing and reads the group's shape from etcd; "
                 "leave it out");
  }
}

void ReadLog(Reader& reader, log::LogOptions& options) {
  const Setting& level = *reader.Find("log-level");
  const Setting& format = *reader.Find("log-format");
  const Result<log::Level> parsed_level = log::ParseLevel(level.text);
  const Result<log::Format> parsed_format = log::ParseFormat(format.text);
  if (!parsed_level) reader.Wrong(level.origin, parsed_level.error().message);
  if (!parsed_format) reader.Wrong(format.origin, parsed_format.error().message);
  if (parsed_level) options.level = parsed_level.value();
  if (parsed_format) options.format = parsed_format.value();
}

void ReadHistory(Reader& reader, DaemonOptions& options) {
  options.node.history = reader.Number("history", {1, 1'000'000});
  const std::string path = reader.Text("events-file");
  const std::uint64_t mib = reader.Number("events-file-mib", {1, 1'000'000});
  const std::uint32_t keep = reader.Number("events-file-keep", {1, 1'000});
  if (!path.empty()) {
    options.events_file =
        EventsFileOptions{.path = path, .most_bytes = mib * 1024 * 1024, .keep = keep};
  }
  if (reader.Find("events-file") != nullptr) return;
  for (const char* name : {"events-file-mib", "events-file-keep"}) {
    const Setting* const setting = reader.Find(name);
    if (!setting->given) continue;
    reader.Wrong(setting->origin, "it bounds a file that is not written; give --events-file too");
  }
}

}  // namespace

Surroundings Surroundings::Real() {
  Surroundings real;
  real.environment = [](const std::string& name) -> std::optional<std::string> {
    const char* const value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) == 0) real.host_name = host.data();
  return real;
}

std::variant<EtcdOptions, std::vector<std::string>> ReadEtcdOptions(const Settings& settings) {
  Reader reader(settings);
  EtcdOptions etcd;
  ReadEtcd(reader, etcd);
  std::vector<std::string> errors = reader.TakeErrors();
  if (!errors.empty()) return errors;
  return etcd;
}

Advertised AdvertisedBy(const DaemonOptions& options, std::uint16_t grpc_port,
                        std::uint16_t http_port) {
  const http::Address grpc = options.advertise.value_or(options.listen);
  const std::uint16_t told = options.advertise ? options.advertise->port : 0;
  const std::string& http_host = options.advertise ? options.advertise->host : options.http.host;
  Advertised advertised;
  advertised.grpc = http::FormatAddress({grpc.host, told != 0 ? told : grpc_port});
  advertised.http = http::FormatAddress({http_host, http_port});
  advertised.service = options.service_address;
  if (advertised.service.empty() && !options.sidecar) advertised.service = advertised.grpc;
  return advertised;
}

std::variant<DaemonOptions, EarlyExit> ParseDaemonOptions(std::vector<std::string> arguments,
                                                          const Surroundings& surroundings) {
  auto command = TakeCommand(arguments);
  if (!command) return UsageError({command.error().message});
  const auto settings = ReadSettings(std::move(arguments), surroundings);
  if (const auto* exit = std::get_if<EarlyExit>(&settings)) return *exit;
  Reader reader(std::get<Settings>(settings));
  DaemonOptions options;
  options.relay = reader.Switch("relay");
  ReadIdentity(reader, surroundings, options);
  ReadHash(reader, options.node);
  ReadEtcd(reader, options.node.etcd);
  options.credentials = PathsOf(reader);
  options.command = std::move(command).value();
  if (options.relay) {
    RefuseForRelay(reader, options);
  } else {
    ReadStateDir(reader, surroundings, options.node);
    ReadSidecar(reader, options);
    ReadTimes(reader, options.node);
    ReadShare(reader, options.node);
  }
  ReadAddresses(reader, options);
  ReadLog(reader, options.log);
  ReadHistory(reader, options);
  options.ready_file = reader.Text("ready-file");
  options.max_shard_series = reader.Number("max-shard-series", {0, 100'000'000});
  options.allow_remote_admin = reader.Switch("allow-remote-admin");
  if (std::vector<std::string> errors = reader.TakeErrors(); !errors.empty()) {
    return UsageError(errors);
  }
  return options;
}

}  // namespace baton::app
