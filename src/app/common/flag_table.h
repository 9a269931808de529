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
  /// What the help calls the value; null: a switch, which has no value. This name ends with ",..."
  /// if the value is a list. A list's flag can be given several times: its values are joined by
  /// commas. Any other flag with a value is a usage error if it is given twice.
  const char* value;
  const char* fallback;  ///< the default, as a user writes it; null: no default
  const char* help;
};
std::span<const Flag> Flags();
/// Returns the environment variable of a flag, such as "BATON_ETCD_CA" for "etcd-ca". An empty
/// variable counts as not set.
std::string EnvironmentName(const std::string& flag);

/// A setting's text, and its origin as errors name it: "--ttl", "BATON_TTL", "batond.yaml:3: ttl".
/// There are four sources: the flag, the environment variable, the file of --config, the default.
/// The first source that has the setting counts, also for a list: lists of two sources are not
/// joined. If no source has the setting, it is not in Settings.
struct Setting {
  std::string text;
  std::string origin;
  bool given = true;  ///< false: the default
};
using Settings = std::map<std::string, Setting>;

/// The process should end at once: after --help or --version (code 0, text for stdout), or a usage
/// error (code 2, text for stderr).
struct EarlyExit {
  int code = 0;
  std::string text;  ///< whole lines; one for each error
};

/// The parts of the process's surroundings that settings depend on.
struct Surroundings {
  /// Returns an environment variable's value; nullopt: not set. REQUIRES: the function is set.
  std::function<std::optional<std::string>(const std::string& name)> environment;
  std::string host_name;  ///< the default of --node; empty: not known

  /// Returns the surroundings of this process.
  static Surroundings Real();
};

/// Reads the settings, with the file of --config if this setting is given. Checks the settings'
/// names only; SettingReader checks values. Returns EarlyExit for --help, --version and usage
/// errors, and if the file can't be used. `arguments` come without the program's name.
std::variant<Settings, EarlyExit> ReadSettings(std::vector<std::string> arguments,
                                               const Surroundings& surroundings);

/// Makes a usage error of batond. "batond: " is put before each line. Control characters are
/// escaped and long lines are cut, because a line may repeat anything that the user gave.
EarlyExit UsageError(const std::vector<std::string>& lines);

}  // namespace baton::app
