// Reads and checks batond's settings. flag_table.h says where settings come from; flag_table.cc has
// all names, defaults and help lines. One thread at a time.
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

/// Paths of files. Empty: the file is not given.
struct CredentialPaths {
  std::string password;
  std::string ca;
  std::string cert;
  std::string key;
};

struct DaemonOptions {
  /// The process is a relay: it leads nothing and only serves routes. Of `node`, a
  /// relay uses only `group`, `node` (the relay's name), `etcd` and `history`.
  bool relay = false;
  /// The node's options. Their addresses are empty, because addresses depend on the ports; see
  /// AdvertisedBy.
  NodeOptions node;
  bool guard_by_default = false;           ///< --guard was not given, and --hang-timeout is 0
  http::Address listen;                    ///< of gRPC; port 0: a free port
  http::Address http;                      ///< of HTTP; port 0: a free port
  std::vector<std::string> http_hosts;     ///< the names of --http-hosts; see HttpNamesOf
  std::optional<http::Address> advertise;  ///< for gRPC; port 0: the port of `listen`
  CredentialPaths credentials;             ///< etcd's; batond reads the files again while it runs
  /// The certificate of batond's own ports; null: they have no TLS.
  std::shared_ptr<ServerIdentity> tls;
  std::chrono::milliseconds tls_max_age{0};  ///< the longest life of a connection; 0: no bound
  CredentialPaths tls_files;    ///< the files of `tls`; batond reads them again while it runs
  std::string admin_socket;     ///< an absolute path; empty: none
  std::string service_address;  ///< empty: see Advertised
  std::string ready_file;       ///< empty: none
  log::LogOptions log;
  std::string events_file;           ///< empty: none is written
  std::string audit_file;            ///< empty: none is written
  bool audit_required = false;       ///< no change is made without its line in audit_file
  std::size_t max_shard_series = 0;  ///< the most series on /metrics/shards
  bool allow_remote_admin = false;
  std::string access_file;     ///< empty: none
  std::string access_text;     ///< the content of access_file at the start
  access::Rules access_rules;  ///< the rules in access_text
  bool grpc_reflection = false;
  bool core_dumps = false;  ///< see process_guard.h
  /// The address at which an application in another process attaches. Unset: no other process acts
  /// on the shards. Always set if `command` is not empty.
  std::optional<sidecar::Address> sidecar;
  /// The application must say within this time that it is alive, again and again. 0: it need not.
  /// Above 0 only if `sidecar` is set, and then at least kShortestWatchdog (base/limits.h).
  std::chrono::milliseconds watchdog{0};
  std::vector<std::string> command;  ///< of `batond run`: program and arguments; or empty
};

/// The addresses that the node publishes to other nodes and to callers.
struct Advertised {
  std::string grpc;
  std::string http;
  /// The application's address. If --service-address is not given: the same as `grpc`, or empty
  /// with a sidecar, because batond's port does not serve the application.
  std::string service;
};
/// Returns the addresses. `grpc_port`, `http_port`: the ports that are bound.
Advertised AdvertisedBy(const DaemonOptions& options, std::uint16_t grpc_port,
                        std::uint16_t http_port);

/// Returns the role of callers for whom there is no rule: `operate` with --allow-remote-admin,
/// otherwise `read`. The rules may set other roles by `this_host` and `other_hosts`.
access::Access::Defaults DefaultsOf(const DaemonOptions& options);

/// Returns the host names by which browsers and scrapers may ask for HTTP. These are the names of
/// --http-hosts, the host of --http (except a wildcard), the host of --advertise, and this host's
/// name. A name may be there twice.
std::vector<std::string> HttpNamesOf(const DaemonOptions& options);

/// Returns etcd's password, CA, certificate and key, in this order. Each has its path and the
/// content that was read at the start. The path of a file that is not given is empty.
std::vector<ReloadedFiles::File> CredentialsOf(const DaemonOptions& options);
/// Returns the CA, certificate and key of batond's own ports, in this order and in the same form.
/// Returns no files if the ports have no TLS.
std::vector<ReloadedFiles::File> CertificatesOf(const DaemonOptions& options);

/// Reads and checks all settings, and reads the files that they name. Waits for the file system,
/// and with --access for the host's user database. `arguments` come without the program's name. If
/// they begin with `run`, they end with `-- PROGRAM ...`, unless they have --help or --version.
/// Returns EarlyExit for --help, for --version, and if a setting is wrong. If settings are wrong,
/// the text has one line for each error. But an error of ReadSettings, or a missing PROGRAM, is
/// reported alone.
std::variant<DaemonOptions, EarlyExit> ParseDaemonOptions(std::vector<std::string> arguments,
                                                          const Surroundings& surroundings);

}  // namespace baton::app
