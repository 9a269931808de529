// batond's settings: from flags, environment, file and defaults to what the daemon runs with.
//
// A setting's value is the flag's, else that of BATON_<NAME>, else the --config file's, else the
// default. All names, defaults and help lines stand in the table in flag_table.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "app/credential_files.h"
#include "app/events_file.h"
#include "base/log.h"
#include "baton/options.h"
#include "http/address.h"
#include "sidecar/address.h"

namespace baton::app {

struct DaemonOptions {
  /// Leads nothing and only serves routes; of `node` its group, name and etcd count.
  bool relay = false;
  /// Addresses are left empty: they are known once the listeners are bound, see AdvertisedBy.
  NodeOptions node;
  http::Address listen;
  http::Address http;
  std::optional<http::Address> advertise;  ///< port 0: the listener's real port
  CredentialPaths credentials;             ///< files that are read again while the node runs
  std::string service_address;             ///< empty: see Advertised
  std::string ready_file;                  ///< empty: none
  log::LogOptions log;
  std::optional<EventsFileOptions> events_file;  ///< unset: none is written
  std::size_t max_shard_series = 0;
  bool allow_remote_admin = false;
  /// Where an application in another process attaches; unset: none does, the node leads by itself.
  std::optional<sidecar::Address> sidecar;
  std::vector<std::string> command;  ///< the program of `batond run`; empty: none
};

/// What a node that listens on these ports tells the others.
struct Advertised {
  std::string grpc;
  std::string http;
  std::string service;  ///< default: `grpc`; with a sidecar none, since callers want the application
};
Advertised AdvertisedBy(const DaemonOptions& options, std::uint16_t grpc_port,
                        std::uint16_t http_port);

/// The process ends here: --help and --version (0, to stdout) or a usage error (2, to stderr).
struct EarlyExit {
  int code = 0;
  std::string text;  ///< ends with a newline; for errors one line each
};

/// What options are read from besides the command line.
struct Surroundings {
  std::function<std::optional<std::string>(const std::string& name)> environment;
  std::string host_name;

  /// This process's.
  static Surroundings Real();
};

/// `arguments` without the program's name. Reads the files that options name.
std::variant<DaemonOptions, EarlyExit> ParseDaemonOptions(std::vector<std::string> arguments,
                                                          const Surroundings& surroundings);

struct Setting;
/// Of the settings whose names begin with "etcd"; else what is wrong with them, a line each.
std::variant<EtcdOptions, std::vector<std::string>> ReadEtcdOptions(
    const std::map<std::string, Setting>& settings);

}  // namespace baton::app
