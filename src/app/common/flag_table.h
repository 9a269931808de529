// The table of batond's flags, and how settings are read from the command line, the environment and
// the file of --config. Functions of this header can be called from any thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "baton/result.h"

namespace baton::app {

struct Flag {
  const char* name;  ///< without dashes
  /// The value's name in the help; null: a switch, which needs no value. The text ends with ",..."
  /// if the value is a list. A list's flag can be given several times: its values are joined by
  /// commas. Any other flag that is given twice is a usage error.
  const char* value;
  const char* fallback;  ///< the default, as a user writes it; null: no default
  const char* help;
};
std::span<const Flag> Flags();
/// Returns the environment variable of a flag, such as "BATON_ETCD_CA" for "etcd-ca". An empty
/// variable counts as not set.
std::string EnvironmentName(const std::string& flag);

/// A setting comes from one of four sources, in this order: the flag, the environment variable, the
/// file of --config, the default. The first source that has the setting counts, also for a list:
/// lists of two sources are not joined. If no source has the setting, it is not in Settings.
struct Setting {
  std::string text;    ///< not checked; a switch without a value has a text that means true
  std::string origin;  ///< for errors: "--ttl" (also of a default), "BATON_TTL", "b.yaml:3: ttl"
  bool given = true;   ///< false: the default
};
/// By the flag's name without dashes.
using Settings = std::map<std::string, Setting>;

/// Why the process should end at once: --help or --version (code 0, the text is for stdout), or
/// usage errors (code 2, the text is for stderr).
struct EarlyExit {
  int code = 0;
  std::string text;  ///< whole lines; after usage errors, one for each
};

/// The parts of the process's surroundings that settings depend on.
struct Surroundings {
  /// Returns an environment variable's value; nullopt: not set. REQUIRES: the function is set.
  std::function<std::optional<std::string>(const std::string& name)> environment;
  /// The default of --node; a relay's default ends in "-relay". Empty: the host name is not known.
  std::string host_name;

  /// Returns the surroundings of this process.
  static Surroundings Real();
};

/// Reads the settings, with the file of --config if this setting is given. Checks the settings'
/// names only; SettingReader checks values. Returns EarlyExit for --help, --version and the first
/// usage error; a file that can't be used is one. `arguments` come without the program's name.
std::variant<Settings, EarlyExit> ReadSettings(std::vector<std::string> arguments,
                                               const Surroundings& surroundings);

/// Makes the exit for batond's usage errors, one a line. "batond: " is put before each line.
/// Control characters are escaped and long lines are cut, because a line may repeat anything that
/// the user gave.
EarlyExit UsageError(const std::vector<std::string>& lines);

}  // namespace baton::app
