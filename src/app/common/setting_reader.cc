#include "app/common/setting_reader.h"

#include <charconv>
#include <sstream>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "app/common/duration.h"
#include "base/duration_text.h"
#include "base/small_file.h"
#include "base/text_rules.h"

namespace baton::app {

using std::chrono::milliseconds;

namespace {

/// Says what is wrong with one more label beside the others; empty: nothing.
std::string WrongLabel(const std::string& item, const Labels& others) {
  const std::size_t equals = item.find('=');
  if (equals == std::string::npos) return "is no label; expected NAME=VALUE, such as disk=ssd";
  const std::string name = item.substr(0, equals);
  for (const std::string_view flag : {kNodeLabel, kZoneLabel}) {
    if (name != flag) continue;
    return fmt::format("is the node's {} already; use --{}", flag == kZoneLabel ? "zone" : "id",
                       flag);
  }
  if (others.contains(name)) return "is the second value of this label; give one";
  const Status valid = CheckLabels({{name, item.substr(equals + 1)}});
  return valid ? "" : "can't be used: " + valid.error().message;
}

}  // namespace

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

Labels SettingReader::NodeLabels(const std::string& name) {
  Labels labels;
  const Setting* const setting = Find(name);
  if (setting == nullptr) return labels;
  std::istringstream items(Text(name));
  for (std::string item; std::getline(items, item, ',');) {
    if (const std::string wrong = WrongLabel(item, labels); !wrong.empty()) {
      Wrong(setting->origin, fmt::format("\"{}\" {}", item, wrong));
      return labels;
    }
    const std::size_t equals = item.find('=');
    labels[item.substr(0, equals)] = item.substr(equals + 1);
  }
  if (const Status fits = CheckLabels(labels); !fits) Wrong(setting->origin, fits.error().message);
  return labels;
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
