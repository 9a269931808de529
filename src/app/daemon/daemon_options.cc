#include "app/daemon/daemon_options.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "app/common/etcd_settings.h"
#include "app/common/flag_table.h"
#include "app/common/setting_reader.h"
#include "app/daemon/access_file.h"
#include "base/endpoint.h"
#include "base/escape.h"
#include "base/limits.h"
#include "base/text_rules.h"
#include "base/unix_socket.h"

namespace baton::app {
namespace {

using std::chrono::milliseconds;

std::string PathOf(const SettingReader& reader, const char* name) {
  const Setting* const setting = reader.Find(name);
  return setting == nullptr ? std::string() : setting->text;
}

CredentialPaths PathsOf(const SettingReader& reader) {
  return {.password = PathOf(reader, "etcd-password-file"),
          .ca = PathOf(reader, "etcd-ca"),
          .cert = PathOf(reader, "etcd-cert"),
          .key = PathOf(reader, "etcd-key")};
}

/// Unset: it is wrong, as the reader notes.
std::optional<ClientCertificates> ReadClientAuth(SettingReader& reader) {
  const Setting* const setting = reader.Find("tls-client-auth");
  const bool ca = reader.Find("tls-client-ca") != nullptr;
  if (setting == nullptr) return ca ? ClientCertificates::kRequire : ClientCertificates::kNone;
  if (!ca) {
    reader.Wrong(setting->origin,
                 "to ask for clients' certificates, give --tls-client-ca with who signs them");
  } else if (setting->text == "require") {
    return ClientCertificates::kRequire;
  } else if (setting->text == "ask") {
    return ClientCertificates::kAsk;
  } else {
    reader.Wrong(setting->origin, fmt::format("\"{}\" is neither require nor ask", setting->text));
  }
  return std::nullopt;
}

/// Reads the certificate of this process's own ports.
void ReadTls(SettingReader& reader, DaemonOptions& options) {
  const Setting* const cert = reader.Find("tls-cert");
  const Setting* const key = reader.Find("tls-key");
  const Setting* const ca = reader.Find("tls-client-ca");
  const auto clients = ReadClientAuth(reader);
  PemTexts texts{.ca = reader.PemFile("tls-client-ca"),
                 .cert = reader.PemFile("tls-cert"),
                 .key = reader.PemFile("tls-key")};
  if (cert != nullptr && key == nullptr) {
    reader.Wrong(cert->origin, "a certificate needs its key; give --tls-key too");
  }
  if (key != nullptr && cert == nullptr) {
    reader.Wrong(key->origin, "a key needs its certificate; give --tls-cert too");
  }
  if (ca != nullptr && cert == nullptr) {
    reader.Wrong(ca->origin, "without TLS nobody shows a certificate; give --tls-cert too");
  }
  if (const Setting* const age = reader.Find("tls-max-age"); age != nullptr) {
    options.tls_max_age =
        reader.Duration("tls-max-age", std::chrono::seconds(1), kLongestDurationFlag);
    if (cert == nullptr) {
      reader.Wrong(age->origin, "it needs TLS; give --tls-cert too");
    }
  }
  options.tls_files = {.password = {},
                       .ca = PathOf(reader, "tls-client-ca"),
                       .cert = PathOf(reader, "tls-cert"),
                       .key = PathOf(reader, "tls-key")};
  const bool read =
      !texts.cert.empty() && !texts.key.empty() && (ca == nullptr) == texts.ca.empty();
  if (!read || !clients) return;
  auto identity = ServerIdentity::Create(std::move(texts), *clients);
  if (!identity) return reader.Wrong(cert->origin, identity.error().message);
  options.tls = std::move(identity).value();
}

/// Refuses an address that other hosts reach, if nothing is encrypted and the user did not say so.
void RefuseInClear(SettingReader& reader) {
  if (reader.Switch("insecure") || reader.Find("tls-cert") != nullptr) return;
  for (const char* name : {"listen", "http"}) {
    const Setting* const setting = reader.Find(name);
    const auto address = http::ParseAddress(setting->text);
    if (!address || http::IsLoopback(*address)) continue;
    reader.Wrong(
        setting->origin,
        fmt::format("other hosts reach \"{}\", and without TLS everybody on the way can read "
                    "and change what is sent; give --tls-cert and --tls-key, or --insecure "
                    "on a network that you trust",
                    setting->text));
  }
}

void ReadHash(SettingReader& reader, NodeOptions& node) {
  const Setting& setting = *reader.Find("hash");
  for (const HashFunction hash :
       {HashFunction::kMurmur2, HashFunction::kXxh3Jump, HashFunction::kModulo}) {
    if (setting.text != ToString(hash)) continue;
    node.hash = hash;
    return;
  }
  reader.Wrong(setting.origin,
               fmt::format("\"{}\" is not a hash function; expected murmur2, xxh3-jump or modulo",
                           setting.text));
}

void ReadIdentity(SettingReader& reader, const Surroundings& surroundings, DaemonOptions& options) {
  NodeOptions& node = options.node;
  const bool relay = options.relay;
  node.group = reader.Name("group");
  if (!relay) node.shards = reader.Number("shards", {1, kMaxShards});
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
    reader.Wrong("--node", fmt::format("the host name \"{}\" can't be this node's id; give a name",
                                       node.node));
  }
}

/// The default state directory is below $XDG_STATE_HOME, if that is absolute, or ~/.local/state.
void ReadStateDir(SettingReader& reader, const Surroundings& surroundings, NodeOptions& node) {
  node.trust_state_lock = reader.Switch("trust-state-lock");
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
  node.state_dir = fmt::format("{}/baton/{}/{}", base, node.group, node.node);
}

void ReadGuard(SettingReader& reader, DaemonOptions& options) {
  NodeOptions& node = options.node;
  const Setting& setting = *reader.Find("guard");
  options.guard_by_default = !setting.given;
  if (setting.text == "own") {
    node.guard = GuardMode::kOwn;
  } else if (setting.text == "shared") {
    node.guard = GuardMode::kShared;
  } else if (setting.text != "off") {
    reader.Wrong(setting.origin, fmt::format("\"{}\" is not own, shared or off", setting.text));
  }
}

void ReadTimes(SettingReader& reader, NodeOptions& node) {
  const milliseconds ttl = reader.Duration("ttl", std::chrono::seconds(1), kLongestTtlOption);
  node.ttl = std::chrono::duration_cast<std::chrono::seconds>(ttl);
  if (ttl != node.ttl) {
    const Setting& setting = *reader.Find("ttl");
    reader.Wrong(
        setting.origin,
        fmt::format("\"{}\" is not a lease time; expected whole seconds, as etcd grants them",
                    setting.text));
  }
  node.settle = reader.Duration("settle", milliseconds(0), kLongestDurationFlag);
  node.rebalance_delay = reader.Duration("rebalance-delay", milliseconds(0), kLongestDurationFlag);
  node.cooldown = reader.Duration("cooldown", milliseconds(0), kLongestDurationFlag);
  node.prepare_timeout = reader.Duration("prepare-timeout", milliseconds(1), kLongestDurationFlag);
  node.release_timeout = reader.Duration("release-timeout", milliseconds(1), kLongestDurationFlag);
  node.callback_timeout =
      reader.Duration("callback-timeout", milliseconds(1), kLongestDurationFlag);
  node.drain_timeout = reader.Duration("drain-timeout", milliseconds(1), kLongestDurationFlag);
}

void ReadShare(SettingReader& reader, NodeOptions& node) {
  node.weight = reader.Number("weight", {0, kMaxWeight});
  node.expect_nodes = reader.Number("expect-nodes", {1, kMaxColdStartNodes});
  node.max_moves = reader.Number("max-moves", {1, kMaxMoves});
  node.zone = reader.Find("zone") == nullptr ? "" : reader.Name("zone");
  node.labels = reader.NodeLabels("label");
}

/// Why others can't connect to the address; nullptr: nothing is known, or it was refused before.
const char* WhyUnreachable(const http::Address& address) {
  if (http::IsWildcard(address)) return "is a wildcard, which others can't connect to";
  if (address.host.empty()) return nullptr;
  if (IsPeerEndpoint(http::FormatAddress({address.host, kNodePort}))) return nullptr;
  return "has a host that gRPC takes for a resolver";
}

/// Reads HOST or HOST:PORT.
void ReadAdvertise(SettingReader& reader, DaemonOptions& options) {
  const Setting* const setting = reader.Find("advertise");
  if (setting == nullptr) return;
  Result<http::Address> parsed = http::ParseAddress(setting->text);
  if (!parsed) parsed = http::ParseAddress(setting->text + ":0");
  if (!parsed || WhyUnreachable(parsed.value()) != nullptr) {
    return reader.Wrong(setting->origin, fmt::format("\"{}\" can't be connected to; expected this "
                                                     "node's host or host:port, as others reach it",
                                                     setting->text));
  }
  options.advertise = parsed.value();
}

/// Reads NAME,NAME.
void ReadHttpHosts(SettingReader& reader, DaemonOptions& options) {
  const Setting* const setting = reader.Find("http-hosts");
  if (setting == nullptr) return;
  std::istringstream names(setting->text);
  for (std::string name; std::getline(names, name, ',');) {
    const bool good = name == "*" || http::ParseAddress(name + ":0").ok();
    if (!good) {
      return reader.Wrong(setting->origin,
                          fmt::format("\"{}\" is not a host name; expected names without a port, "
                                      "separated by commas, or *",
                                      name));
    }
    options.http_hosts.push_back(name);
  }
}

void ReadAdminSocket(SettingReader& reader, DaemonOptions& options) {
  const Setting* const setting = reader.Find("admin-socket");
  if (setting == nullptr) return;
  options.admin_socket = setting->text;
  if (setting->text.starts_with('/') && setting->text.size() <= kLongestSocketPath) return;
  reader.Wrong(setting->origin,
               fmt::format("\"{}\" can't be a socket's path; expected an absolute path of at most "
                           "{} bytes",
                           OneLine(setting->text, kLongestSocketPath + 1), kLongestSocketPath));
}

void ReadAddresses(SettingReader& reader, DaemonOptions& options) {
  options.listen = reader.Address("listen");
  options.http = reader.Address("http");
  ReadHttpHosts(reader, options);
  ReadAdminSocket(reader, options);
  ReadTls(reader, options);
  RefuseInClear(reader);
  const bool same = options.listen.port != 0 && options.listen.port == options.http.port &&
                    options.listen.host == options.http.host;
  if (same) reader.Wrong("--http", "it is the same address as --listen; give another port");
  if (options.relay) return;  // it tells nobody its addresses
  ReadAdvertise(reader, options);
  for (const auto& [name, address] :
       {std::pair("listen", &options.listen), std::pair("http", &options.http)}) {
    const char* const why = WhyUnreachable(*address);
    if (why == nullptr || reader.Find("advertise") != nullptr) continue;
    const Setting& setting = *reader.Find(name);
    reader.Wrong(setting.origin, fmt::format("\"{}\" {}; give --advertise with this node's host",
                                             setting.text, why));
  }
  options.service_address = reader.Text("service-address");
  if (options.service_address.empty()) return;
  const Status usable = CheckOwnAddress(options.service_address, kNodePort);
  if (!usable) reader.Wrong(reader.Find("service-address")->origin, usable.error().message);
}

/// With a program to run there is always a sidecar; by default its socket is in the state
/// directory.
void ReadSidecar(SettingReader& reader, DaemonOptions& options) {
  const Setting* const setting = reader.Find("sidecar");
  if (setting == nullptr && options.command.empty()) return;
  const std::string beside = fmt::format(
      "unix:{}/sidecar.sock", std::filesystem::absolute(options.node.state_dir).string());
  const auto parsed = sidecar::ParseAddress(setting != nullptr ? setting->text : beside);
  if (parsed) {
    options.sidecar = parsed.value();
  } else if (setting != nullptr) {
    reader.Wrong(setting->origin, parsed.error().message);
  } else {
    reader.Wrong("--sidecar", fmt::format("the default can't be used: {}; give another",
                                          parsed.error().message));
  }
}

/// A duration of 0, which turns something off, or of at least `shortest`.
milliseconds ReadOrNever(SettingReader& reader, const char* name, milliseconds shortest) {
  const milliseconds read = reader.Duration(name, milliseconds(0), kLongestDurationFlag);
  if (read.count() != 0 && read < shortest) {
    reader.Wrong(reader.Find(name)->origin,
                 fmt::format("{} ms is too short for a busy machine; expected 0 or {} ms at least",
                             read.count(), shortest.count()));
  }
  return read;
}

void ReadWatchdog(SettingReader& reader, DaemonOptions& options) {
  options.watchdog = ReadOrNever(reader, "watchdog", kShortestWatchdog);
  if (options.watchdog.count() == 0 || options.sidecar || reader.Find("sidecar")) return;
  reader.Wrong("--watchdog",
               "it watches an application at the sidecar; give --sidecar, or `batond run` it");
}

void ReadHangTimeout(SettingReader& reader, DaemonOptions& options) {
  options.node.hang_timeout = ReadOrNever(reader, "hang-timeout", kShortestHangTimeout);
  if (options.node.hang_timeout.count() == 0) return;
  options.guard_by_default = false;  // without a guard nobody would watch
  if (options.sidecar || options.node.guard != GuardMode::kOwn) {
    reader.Wrong("--hang-timeout",
                 options.sidecar
                     ? "with a sidecar no guard acts; for an application that hangs give --watchdog"
                     : "batond's own guard watches for it; give --guard own");
  }
}

/// Takes the program off the arguments of `run [flags] -- PROGRAM...`.
Result<std::vector<std::string>> TakeCommand(std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front() != "run") return std::vector<std::string>{};
  arguments.erase(arguments.begin());
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  std::vector<std::string> command(dashes == arguments.end() ? dashes : dashes + 1,
                                   arguments.end());
  const auto has = [&](auto flag) { return std::find(arguments.begin(), dashes, flag) != dashes; };
  if (command.empty() && !has("--help") && !has("--version")) {
    return Error{ErrorCode::kInvalidArgument,
                 "run: no program; expected batond run [flags] -- PROGRAM [its arguments]"};
  }
  arguments.erase(dashes, arguments.end());
  return command;
}

/// Refuses the settings that a relay doesn't use: it has no session, leads nothing, and reads the
/// group's shape from etcd.
void RefuseForRelay(SettingReader& reader, const DaemonOptions& options) {
  if (!options.command.empty()) {
    reader.Wrong("run", "a relay leads nothing on which a program could act; leave --relay out");
  }
  for (const char* name : {"shards",
                           "hash",
                           "sidecar",
                           "watchdog",
                           "hang-timeout",
                           "state-dir",
                           "trust-state-lock",
                           "guard",
                           "advertise",
                           "service-address",
                           "ttl",
                           "weight",
                           "zone",
                           "label",
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

void ReadLog(SettingReader& reader, log::LogOptions& options) {
  const Setting& level = *reader.Find("log-level");
  const Setting& format = *reader.Find("log-format");
  const Result<log::Level> parsed_level = log::ParseLevel(level.text);
  const Result<log::Format> parsed_format = log::ParseFormat(format.text);
  if (!parsed_level) reader.Wrong(level.origin, parsed_level.error().message);
  if (!parsed_format) reader.Wrong(format.origin, parsed_format.error().message);
  if (parsed_level) options.level = parsed_level.value();
  if (parsed_format) options.format = parsed_format.value();
}

void ReadAccess(SettingReader& reader, DaemonOptions& options) {
  options.audit_file = reader.Text("audit-file");
  options.audit_required = reader.Switch("audit-required");
  if (options.audit_required && options.audit_file.empty()) {
    reader.Wrong(reader.Find("audit-required")->origin, "name the file: --audit-file");
  }
  options.access_file = reader.Text("access");
  if (options.access_file.empty()) return;
  const auto text = ReadAccessFile(options.access_file);
  const auto rules =
      text ? ParseAccessRules(options.access_file, *text) : Result<access::Rules>(text.error());
  if (!rules) return reader.Wrong(reader.Find("access")->origin, rules.error().message);
  options.access_text = *text;
  options.access_rules = *rules;
}

void ReadHistory(SettingReader& reader, DaemonOptions& options) {
  options.node.history = reader.Number("history", {1, kMaxHistory});
  options.events_file = reader.Text("events-file");
}

}  // namespace

access::Access::Defaults DefaultsOf(const DaemonOptions& options) {
  const access::Role role =
      options.allow_remote_admin ? access::Role::kOperate : access::Role::kRead;
  return {.this_host = role, .other_hosts = role};
}

std::vector<std::string> HttpNamesOf(const DaemonOptions& options) {
  std::vector<std::string> names = options.http_hosts;
  // 0.0.0.0 reaches loopback. Only a page asks for it, so that its browser takes the answer for
  // that of another host.
  if (!http::IsWildcard(options.http)) names.push_back(options.http.host);
  if (options.advertise) names.push_back(options.advertise->host);
  char host[256] = {};
  if (gethostname(host, sizeof host - 1) == 0) names.emplace_back(host);
  return names;
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

std::vector<ReloadedFiles::File> CredentialsOf(const DaemonOptions& options) {
  const CredentialPaths& paths = options.credentials;
  const EtcdOptions& etcd = options.node.etcd;
  return {{paths.password, etcd.password},
          {paths.ca, etcd.ca_pem},
          {paths.cert, etcd.cert_pem},
          {paths.key, etcd.key_pem}};
}

std::vector<ReloadedFiles::File> CertificatesOf(const DaemonOptions& options) {
  if (options.tls == nullptr) return {};
  const PemTexts texts = options.tls->Get()->texts;
  const CredentialPaths& paths = options.tls_files;
  return {{paths.ca, texts.ca}, {paths.cert, texts.cert}, {paths.key, texts.key}};
}

std::variant<DaemonOptions, EarlyExit> ParseDaemonOptions(std::vector<std::string> arguments,
                                                          const Surroundings& surroundings) {
  auto command = TakeCommand(arguments);
  if (!command) return UsageError({command.error().message});
  const auto settings = ReadSettings(std::move(arguments), surroundings);
  if (const auto* exit = std::get_if<EarlyExit>(&settings)) return *exit;
  SettingReader reader(std::get<Settings>(settings));
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
    ReadGuard(reader, options);
    ReadSidecar(reader, options);
    ReadWatchdog(reader, options);
    ReadHangTimeout(reader, options);
    ReadTimes(reader, options.node);
    ReadShare(reader, options.node);
  }
  ReadAddresses(reader, options);
  ReadLog(reader, options.log);
  ReadHistory(reader, options);
  options.ready_file = reader.Text("ready-file");
  options.max_shard_series = reader.Number("max-shard-series", {0, 100'000'000});
  options.allow_remote_admin = reader.Switch("allow-remote-admin");
  ReadAccess(reader, options);
  options.grpc_reflection = reader.Switch("grpc-reflection");
  options.core_dumps = reader.Switch("core-dumps");
  if (std::vector<std::string> errors = reader.TakeErrors(); !errors.empty()) {
    return UsageError(errors);
  }
  return options;
}

}  // namespace baton::app
