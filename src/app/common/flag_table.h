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
  /// The value's name in the help. Null: the flag is a switch, which needs no value. The name ends
  /// with ",..." if the value is a list. The flag of a list can be given several times; the values
  /// are then joined by commas. If any other flag is given twice, this is a usage error.
  const char* value;
  const char* fallback;  ///< the default, as a user writes it; null: no default
  const char* help;
};
std::span<const Flag> Flags();
/// Returns the name of a flag's environment variable, such as "BATON_ETCD_CA" for "etcd-ca". If the
/// variable is empty, it counts as not set.
std::string EnvironmentName(const std::string& flag);

/// A setting comes from one of four sources, in this order: the flag, the environment variable, the
/// file of --config, the default. Only the first source that has the setting counts. This holds for
/// a list, too: lists of two sources are not joined. If no source has the setting, Settings does
/// not contain it.
struct Setting {
  std::string text;    ///< not checked; of a switch without a value: "true"
  std::string origin;  ///< for errors: "--ttl" (also of a default), "BATON_TTL", "b.yaml:3: ttl"
  bool given = true;   ///< false: the text is the default
};
/// The settings by the flag's name, without dashes.
using Settings = std::map<std::string, Setting>;

/// Why the process should end at once: --help or --version (code 0, the text is for stdout), or
/// usage errors (code 2, the text is for stderr).
struct EarlyExit {
  int code = 0;
  std::string text;  ///< whole lines; after usage errors, one line for each error
};

/// The parts of the process's surroundings that settings depend on.
struct Surroundings {
  /// Returns an environment variable's value; nullopt: the variable is not set. REQUIRES (not
  /// checked): the function is set.
  std::function<std::optional<std::string>(const std::string& name)> environment;
  /// The host's name, of which ParseDaemonOptions makes the default of --node. ReadSettings does
  /// not use it. Empty: the host name is not known.
  std::string host_name;

  /// Returns the surroundings of this process.
  static Surroundings Real();
};

/// Reads the settings, also those in the file of --config if this setting is given. Checks only the
/// settings' names; SettingReader checks the values. Returns EarlyExit for --help, for --version,
/// and for the first usage error. A file of --config that can't be used is a usage error. Waits for
/// the file system while it reads this file. `arguments` come without the program's name.
std::variant<Settings, EarlyExit> ReadSettings(std::vector<std::string> arguments,
                                               const Surroundings& surroundings);

/// Makes the exit for batond's usage errors. Each of `lines` is one error, and gets "batond: " in
/// front. Control characters are escaped and long lines are cut (OneLine with kLongestLine),
/// because a line may repeat anything that the user gave.
EarlyExit UsageError(const std::vector<std::string>& lines);

}  // namespace baton::app
