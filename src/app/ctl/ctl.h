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
  /// The verb failed, the group is unhealthy, or the node refuses this caller. Also: a relay was
  /// asked for a change or a plan of moves; or the verb succeeded, but stdout can't be written.
  kFailed = 1,
  kUsage = 2,  ///< a flag, a file or a value is invalid
  /// The node can't be reached, or can't answer now. A change was not made. One exception: if all
  /// calls failed for a minute after a long operation had begun, the operation goes on.
  kUnreachable = 3,
  kNotFound = 4,
  kTimedOut = 5,      ///< a change may still be made, and a long operation goes on
  kPrecondition = 6,  ///< the group's state forbids it, for example because the term has changed
  kPartly = 7,        ///< a part is done; the rest failed or still goes on
  /// Ctrl-C or SIGTERM came, or nobody reads the output any more (SIGPIPE). A change may still be
  /// made, and a long operation goes on.
  kInterrupted = 130,
};

enum class Format : std::uint8_t { kTable, kWide, kJson, kYaml };

/// How to reach a node that has TLS. `ca`, `cert` and `key` are paths of PEM files, which are read
/// before the first call. TLS is not used if all fields are empty, or if the endpoint is a unix
/// socket. The named files must be valid even for a unix socket.
struct ClientTls {
  std::string ca = {};    ///< the nodes' authorities; empty: the system's authorities
  std::string cert = {};  ///< this user's certificate; empty: none
  std::string key = {};   ///< the key of `cert`; required with `cert`
  /// The name that the nodes' certificates must have. Empty: the host of the address.
  std::string name = {};
  /// The names of the group's servers, as in GroupCredentialsOptions. A server must have one of
  /// these names in its certificate; its address does not matter. If `servers` is not empty, `ca`
  /// must be given, and `name` must be empty (CredentialsFor checks this). Empty: see `name`.
  std::vector<std::string> servers = {};

  bool on() const {
    return !ca.empty() || !cert.empty() || !key.empty() || !name.empty() || !servers.empty();
  }
};

/// Flags that every verb takes.
struct CtlOptions {
  std::string endpoint = "127.0.0.1:7400";
  ClientTls tls = {};
  /// The file of a token, which is sent only to `endpoint`. Empty: no token. The token needs TLS,
  /// or an `endpoint` that is a loopback address or a unix socket. Otherwise the verb makes no call
  /// and returns kUsage. It does the same if ReadToken (client_files.h) refuses the file.
  std::string token_file = {};
  Format format = Format::kTable;
  bool color = false;
  /// How long the whole command may take, without the time to read files and stdin. `top`,
  /// `recover` and `demo` ignore it. The call that asks for a change takes kCallTimeout at most,
  /// even if `timeout` is longer. If `timeout` is unset, the limit is:
  ///  - kWorkTimeout for long operations, and for `health --wait`;
  ///  - 20 s for the doctor;
  ///  - none for `events --follow`;
  ///  - kCallTimeout for all other verbs. For a verb that changes something, this is the limit of
  ///    each of its calls (change.h).
  std::optional<std::chrono::milliseconds> timeout = {};

  bool structured() const { return format == Format::kJson || format == Format::kYaml; }
};

inline constexpr std::chrono::seconds kCallTimeout{10};
inline constexpr std::chrono::minutes kWorkTimeout{10};
/// The longest single call of a verb that asks again and again.
inline constexpr std::chrono::seconds kOneCall{5};

/// How a change is carried out.
struct ChangeOptions {
  bool dry_run = false;
  bool detach = false;  ///< for long operations: return after the request is written
};

}  // namespace baton::app
