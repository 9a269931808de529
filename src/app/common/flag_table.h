// The table of batond's flags, and how flags, environment and file make settings.
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
  const char* name;      ///< without dashes
  const char* value;     ///< the name of its value in the help; null: a switch
  const char* fallback;  ///< the default, as a user writes it; null: none
  const char* help;
};
std::span<const Flag> Flags();
/// The environment variable for a flag: "BATON_ETCD_CA" for "etcd-ca". An empty one counts as not
/// set.
std::string EnvironmentName(const std::string& flag);

/// A setting's text, and its origin as errors name it: "--ttl", "BATON_TTL", "batond.yaml:3: ttl".
/// Settings with neither a value nor a default are absent. A setting comes from its flag, else from
/// its environment variable, else from the file of --config, else it is the default.
struct Setting {
  std::string text;
  std::string origin;
  bool given = true;  ///< false: the default
};
using Settings = std::map<std::string, Setting>;

/// The process ends at once: --help or --version (code 0, to stdout) or a usage error (code 2, to
/// stderr).
struct EarlyExit {
  int code = 0;
  std::string text;  ///< whole lines; one for each error
};

/// What settings are read from besides the command line and the file of --config.
struct Surroundings {
  std::function<std::optional<std::string>(const std::string& name)> environment;
  std::string host_name;  ///< empty: not known

  /// Those of this process.
  static Surroundings Real();
};

/// Reads the settings, and the file of --config, if there is one. Checks names, not values: that is
/// SettingReader's part. EarlyExit: for --help, --version and usage errors, and if the file can't
/// be used. `arguments` come without the program's name.
std::variant<Settings, EarlyExit> ReadSettings(std::vector<std::string> arguments,
                                               const Surroundings& surroundings);

/// A usage error of one or more lines. Each begins with the program's name; control characters are
/// escaped and long lines are cut, as they may repeat anything that the user gave.
EarlyExit UsageError(const std::vector<std::string>& lines);

}  // namespace baton::app
