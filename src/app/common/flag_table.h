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
  /// The value's name in the help. Null: the flag is a switch, which needs no value. If the name
  /// ends with ",...", the value is a list: the flag can be given several times, and its values are
  /// joined by commas. Any other flag that is given twice is an error of ReadSettings.
  const char* value;
  const char* fallback;  ///< the default, as a user writes it; null: no default
  const char* help;
};
std::span<const Flag> Flags();
/// Returns the name of a flag's environment variable, such as "BATON_ETCD_CA" for "etcd-ca". An
/// empty variable counts as not set.
std::string EnvironmentName(const std::string& flag);

/// A setting comes from the first of these sources that has it: the flag, the environment variable,
/// the file of --config, the default. Lists of two sources are not joined. If no source has the
/// setting, Settings does not contain it.
struct Setting {
  std::string text;    ///< not checked; of a switch without a value: "true"
  std::string origin;  ///< for errors: "--ttl" (also of a default), "BATON_TTL", "b.yaml:3: ttl"
  bool given = true;   ///< false: the text is the default
};
/// The settings by the flag's name, without dashes.
using Settings = std::map<std::string, Setting>;

/// Why the process should end at once. For --help and --version, the code is 0, and the text is for
/// stdout. For usage errors, the code is 2, and the text is for stderr.
struct EarlyExit {
  int code = 0;
  std::string text;  ///< whole lines; after usage errors, one line for each error
};

/// The environment and the host name, on which settings depend.
struct Surroundings {
  /// Returns an environment variable's value; nullopt: the variable is not set. REQUIRES (not
  /// checked): the function is set.
  std::function<std::optional<std::string>(const std::string& name)> environment;
  /// The host's name; ParseDaemonOptions makes the default of --node from it. ReadSettings does not
  /// use it. Empty: the host name is not known.
  std::string host_name;

  /// Returns the surroundings of this process.
  static Surroundings Real();
};

/// Reads the settings. If --config is given, also reads its file, and waits for the file system
/// meanwhile. Checks only the settings' names; SettingReader checks the values. Returns EarlyExit
/// for --help, for --version, and for the first usage error. A file of --config that can't be used
/// is a usage error. `arguments` come without the program's name.
std::variant<Settings, EarlyExit> ReadSettings(std::vector<std::string> arguments,
                                               const Surroundings& surroundings);

/// Makes the exit for batond's usage errors. Each of `lines` is one error, and gets "batond: " in
/// front. Control characters are escaped, and long lines are cut (OneLine with kLongestLine).
EarlyExit UsageError(const std::vector<std::string>& lines);

}  // namespace baton::app
