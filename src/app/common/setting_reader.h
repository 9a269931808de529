// SettingReader: turns batond's settings (flag_table.h) into values, and checks each by itself.
//
// It notes each error as one line and goes on, so that users see all errors at once. If a setting
// is wrong, what a method returns means nothing. One thread at a time. It reads the files that
// settings name.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "app/common/flag_table.h"
#include "http/address.h"

namespace baton::app {

struct Range {
  std::uint32_t least;
  std::uint32_t most;
};

class SettingReader {
 public:
  /// REQUIRES: `settings` outlives this object.
  explicit SettingReader(const Settings& settings) : settings_(settings) {}

  /// Returns one line for each error so far, and forgets them.
  std::vector<std::string> TakeErrors() { return std::move(errors_); }
  /// Notes an error of the setting that came from `origin`.
  void Wrong(const std::string& origin, const std::string& what) {
    errors_.push_back(origin + ": " + what);
  }

  /// Null: the setting is absent. Else valid as long as the settings.
  const Setting* Find(const std::string& name) const;

  // The value of a setting. If it is absent: an empty text, false, 0, the shortest duration.

  /// An empty text is an error, but an absent setting is not.
  std::string Text(const std::string& name);
  /// A name as kNameRule says.
  std::string Name(const std::string& name);
  /// Both ends of the range are allowed, here and in Duration.
  std::uint32_t Number(const std::string& name, Range range);
  std::chrono::milliseconds Duration(const std::string& name, std::chrono::milliseconds least,
                                     std::chrono::milliseconds most);
  /// true, yes, on, 1, or false, no, off, 0.
  bool Switch(const std::string& name);
  http::Address Address(const std::string& name);
  /// The content of the file that the setting names, which has at most 1 MiB.
  std::string File(const std::string& name);
  /// The same, and it has a line that begins PEM; the rest is not checked (see CheckPem).
  std::string PemFile(const std::string& name);

 private:
  const Settings& settings_;
  std::vector<std::string> errors_;
};

}  // namespace baton::app
