#include "app/common/setting_reader.h"

#include <charconv>
#include <system_error>

#include <fmt/format.h>

#include "app/common/duration.h"
#include "base/duration_text.h"
#include "base/small_file.h"
#include "base/text_rules.h"

namespace baton::app {

using std::chrono::milliseconds;

const Setting* SettingReader::Find(const std::string& name) const {
  const auto found = settings_.find(name);
  return found == settings_.end() ? nullptr : &found->second;
}

std::string SettingReader::Text(const std::string& name) {
  const Setting* const setting = Find(name);
  if (setting == nullptr) return "";
  if (setting->text.empty()) Wrong(setting->origin, "it is empty; give a value or leave it out");
  return setting->text;
}

std::string SettingReader::Name(const std::string& name) {
  const Setting* const setting = Find(name);
  if (setting == nullptr) return "";
  if (!IsName(setting->text)) {
    Wrong(setting->origin,
          fmt::format("\"{}\" is not a name; expected {}", setting->text, kNameRule));
  }
  return setting->text;
}

std::uint32_t SettingReader::Number(const std::string& name, Range range) {
  const Setting* const setting = Find(name);
  if (setting == nullptr) return 0;
  std::uint32_t number = 0;
  const char* const end = setting->text.data() + setting->text.size();
  const auto [stop, failed] = std::from_chars(setting->text.data(), end, number);
  if (failed != std::errc() || stop != end || number < range.least || number > range.most) {
    Wrong(setting->origin, fmt::format("\"{}\" is not valid; expected a whole number from {} to {}",
                                       setting->text, range.least, range.most));
  }
  return number;
}

milliseconds SettingReader::Duration(const std::string& name, milliseconds least,
                                     milliseconds most) {
  const Setting* const setting = Find(name);
  if (setting == nullptr) return least;
  const Result<milliseconds> parsed = ParseDuration(setting->text);
  if (!parsed) {
    Wrong(setting->origin, parsed.error().message);
    return least;
  }
  if (parsed.value() < least || parsed.value() > most) {
    Wrong(setting->origin, fmt::format("\"{}\" is out of range; expected from {} to {}",
                                       setting->text, FormatDuration(least), FormatDuration(most)));
  }
  return parsed.value();
}

bool SettingReader::Switch(const std::string& name) {
  const Setting* const setting = Find(name);
  if (setting == nullptr) return false;
  for (const char* word : {"true", "yes", "on", "1"}) {
    if (setting->text == word) return true;
  }
  for (const char* word : {"false", "no", "off", "0"}) {
    if (setting->text == word) return false;
  }
  Wrong(setting->origin,
        fmt::format("\"{}\" is not a switch; expected true or false", setting->text));
  return false;
}

http::Address SettingReader::Address(const std::string& name) {
  const Setting* const setting = Find(name);
  if (setting == nullptr) return {};
  Result<http::Address> parsed = http::ParseAddress(setting->text);
  if (parsed) return parsed.value();
  Wrong(setting->origin, parsed.error().message);
  return {};
}

std::string SettingReader::File(const std::string& name) {
  const Setting* const setting = Find(name);
  if (setting == nullptr) return "";
  Result<std::string> content = ReadSmallFile(setting->text);
  if (content) return std::move(content).value();
  Wrong(setting->origin, content.error().message);
  return "";
}

std::string SettingReader::PemFile(const std::string& name) {
  const std::size_t errors = errors_.size();
  std::string content = File(name);
  const Setting* const setting = Find(name);
  if (setting != nullptr && errors == errors_.size() &&
      content.find("-----BEGIN ") == std::string::npos) {
    Wrong(setting->origin, setting->text + " holds no PEM; expected -----BEGIN ...");
  }
  return content;
}

}  // namespace baton::app
