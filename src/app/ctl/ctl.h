// Exit codes, output formats and global flags, which all verbs of batonctl share.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace baton::app {

/// Exit codes. They are API: scripts branch on them.
enum class ExitCode : int {
  kDone = 0,
  kFailed = 1,  ///< or unhealthy; also if the node refuses this caller
  kUsage = 2,
  kUnreachable = 3,
  kNotFound = 4,
  kTimedOut = 5,       ///< a change may still be made; a long operation goes on
  kPrecondition = 6,   ///< the state doesn't allow it, for example because the term has changed
  kPartly = 7,         ///< a part is done, and the rest failed or still goes on
  kInterrupted = 130,  ///< by Ctrl-C or SIGTERM
};

enum class Format : std::uint8_t { kTable, kWide, kJson, kYaml };

/// How to reach a node that has TLS: paths of PEM files, which are read before the first call. Off
/// if nothing is given, and at a unix socket.
struct ClientTls {
  std::string ca = {};    ///< who signed the nodes' certificates; empty: the system's authorities
  std::string cert = {};  ///< this user's certificate
  std::string key = {};
  std::string name = {};  ///< that their certificates must have, if it is not the address's
  /// The names in the certificates of the group's servers, as GroupCredentialsOptions has them;
  /// then addresses are not compared. Empty: any server with the address's name is believed.
  std::vector<std::string> servers = {};

  bool on() const {
    return !ca.empty() || !cert.empty() || !key.empty() || !name.empty() || !servers.empty();
  }
};

/// Flags that every verb takes.
struct CtlOptions {
  std::string endpoint = "127.0.0.1:7400";
  ClientTls tls = {};
  std::string token_file = {};  ///< sent to the endpoint alone; empty: none
  Format format = Format::kTable;
  bool color = false;
  /// Bounds the whole command, except `top`. Unset: kCallTimeout, kWorkTimeout for long operations,
  /// and no bound for `events --follow`; the doctor has a bound of its own.
  std::optional<std::chrono::milliseconds> timeout = {};

  bool structured() const { return format == Format::kJson || format == Format::kYaml; }
};

inline constexpr std::chrono::seconds kCallTimeout{10};
inline constexpr std::chrono::minutes kWorkTimeout{10};
/// One question of a verb that asks again and again.
inline constexpr std::chrono::seconds kOneCall{5};

/// How a change is carried out.
struct ChangeOptions {
  bool dry_run = false;
  bool detach = false;  ///< of a long operation: return once the request is written
};

}  // namespace baton::app
