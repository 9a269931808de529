// batond's settings: reads and checks them.
//
// A setting comes from its flag, else from BATON_<NAME>, else from the file of --config, else it is
// the default. The table in flag_table.cc has all names, defaults and help lines.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "access/access.h"
#include "app/common/flag_table.h"
#include "app/common/reloaded_files.h"
#include "base/log.h"
#include "base/server_identity.h"
#include "baton/options.h"
#include "http/address.h"
#include "sidecar/address.h"

namespace baton::app {

/// Paths; empty: that file is not given.
struct CredentialPaths {
  std::string password;
  std::string ca;
  std::string cert;
  std::string key;
};

struct DaemonOptions {
  /// The process leads nothing and only serves routes. It uses only group, name and etcd of `node`.
  bool relay = false;
  /// Its addresses are empty: they are known once the ports are bound, see AdvertisedBy.
  NodeOptions node;
  bool guard_by_default = false;  ///< nobody asked for node.guard
  http::Address listen;
  http::Address http;
  std::vector<std::string> http_hosts;     ///< names, besides those that follow from the addresses
  std::optional<http::Address> advertise;  ///< port 0 stands for the real port
  CredentialPaths credentials;             ///< files that are read again while the node runs
  /// What its own ports show; null: they have no TLS.
  std::shared_ptr<ServerIdentity> tls;
  std::chrono::milliseconds tls_max_age{0};  ///< of connections; 0: no bound
  CredentialPaths tls_files;    ///< of `tls`; they are read again while the process runs
  std::string admin_socket;     ///< an absolute path; empty: none
  std::string service_address;  ///< empty: see Advertised
  std::string ready_file;       ///< empty: none
  log::LogOptions log;
  std::string events_file;      ///< empty: none is written
  std::string audit_file;       ///< empty: none is written
  bool audit_required = false;  ///< no change without its line there
  std::size_t max_shard_series = 0;
  bool allow_remote_admin = false;
  std::string access_file;     ///< empty: none
  std::string access_text;     ///< its content
  access::Rules access_rules;  ///< what that says
  bool grpc_reflection = false;
  bool core_dumps = false;  ///< see process_guard.h
  /// Address at which an application in another process attaches. Unset: there is none, and the
  /// node leads by itself.
  std::optional<sidecar::Address> sidecar;
  std::chrono::milliseconds watchdog{0};  ///< of that application; 0: none
  std::vector<std::string> command;       ///< the program of `batond run`; empty: none
};

/// The addresses that a node tells the others if it listens on these ports.
struct Advertised {
  std::string grpc;
  std::string http;
  std::string service;  ///< default: `grpc`; with a sidecar none: callers want the application
};
Advertised AdvertisedBy(const DaemonOptions& options, std::uint16_t grpc_port,
                        std::uint16_t http_port);

/// The names by which browsers and scrapers may ask for HTTP: those of this host that follow from
/// the settings, and those that operators added.
std::vector<std::string> HttpNamesOf(const DaemonOptions& options);

/// The files whose changes count while batond runs, with what it read at the start: etcd's
/// password, CA, certificate and key; and CA, certificate and key of its own ports (empty without
/// TLS). The order is the one named here; a path is empty if that file is not given.
std::vector<ReloadedFiles::File> CredentialsOf(const DaemonOptions& options);
std::vector<ReloadedFiles::File> CertificatesOf(const DaemonOptions& options);

/// Reads and checks all settings, with the files that they name. `arguments` come without the
/// program's name. EarlyExit: --help or --version, or one line for each error that was found.
std::variant<DaemonOptions, EarlyExit> ParseDaemonOptions(std::vector<std::string> arguments,
                                                          const Surroundings& surroundings);

}  // namespace baton::app
