// The table of batond's flags, and the settings that flags, environment and file make together.
#pragma once

#include <map>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "app/daemon_options.h"
#include "baton/result.h"

namespace baton::app {

struct Flag {
  const char* name;      ///< without dashes
  const char* value;     ///< what its value is, in the help; null: a switch
  const char* fallback;  ///< the default, as it would be written; null: none
  const char* help;
};
std::span<const Flag> Flags();
/// The environment variable that stands for the flag: "BATON_ETCD_CA" of "etcd-ca".
std::string EnvironmentName(const std::string& flag);

/// A setting's text and where it came from, as errors name it: "--ttl", "BATON_TTL",
/// "batond.yaml:3: ttl". Settings with neither value nor default are absent.
struct Setting {
  std::string text;
  std::string origin;
  bool given = true;  ///< not the default
};
using Settings = std::map<std::string, Setting>;

/// EarlyExit: help, version, or words that are no flags.
std::variant<Settings, EarlyExit> ReadSettings(std::vector<std::string> arguments,
                                               const Surroundings& surroundings);

/// A usage error: each with the program's name in front, on one line and cut to a length, whatever
/// it repeats of what was given.
EarlyExit UsageError(const std::vector<std::string>& lines);

}  // namespace baton::app
